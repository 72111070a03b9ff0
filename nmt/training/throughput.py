"""How fast training is, and how much longer it takes."""

from __future__ import annotations

import math
from typing import NamedTuple

from tqdm.std import EMA  # type: ignore[attr-defined]

HALF_LIFE = 20  # updates after which a duration counts half as much in the recent speed


class Tokens(NamedTuple):
    """Numbers of tokens, or tokens per second; padding is not counted."""

    source: float
    target: float


class ThroughputMeter:
    """Tokens per second since the last `train` event, and the time left at the recent speed.

    The recent duration of an update is an exponentially weighted mean, so that it follows a machine that slows down, or
    sentences that get longer, within some dozens of updates. Validations are counted separately, each as long as the
    last.
    """

    def __init__(self) -> None:
        self.validation_seconds = 0.0  # of the last validation, with its checkpoints
        self._mean_seconds = EMA(1 - 0.5 ** (1 / HALF_LIFE))  # of an update
        self.reset_speed()

    def reset_speed(self) -> None:
        """Start to measure the speed for the next `train` event."""
        self._source = self._target = self._seconds = 0.0

    def record_update(self, tokens: Tokens, seconds: float) -> None:
        """Count an update's tokens and its duration."""
        self._source += tokens.source
        self._target += tokens.target
        self._seconds += seconds
        self._mean_seconds(seconds)

    @property
    def speed(self) -> Tokens:
        """Tokens per second since the last `train` event; nan before the first update."""
        seconds = self._seconds or math.nan
        return Tokens(self._source / seconds, self._target / seconds)

    def seconds_left(self, updates: int, validations: int) -> float:
        """How long so many updates and validations take at the recent speed; nan before the first update."""
        seconds = self._mean_seconds() or math.nan
        return updates * seconds + validations * self.validation_seconds
