"""How fast training is, and how much longer it takes."""

from __future__ import annotations

import math
from typing import NamedTuple

HALF_LIFE = 20  # updates after which a duration counts half as much in the recent speed


class Tokens(NamedTuple):
    """Numbers of tokens, or tokens per second; padding is not counted."""

    source: float
    target: float


class Pace:
    """Tokens per second since the last `train` event, and the time left at the recent speed.

    The recent duration of an update is an exponentially weighted mean, so that it follows a machine that slows down, or
    sentences that get longer, within some dozens of updates. Validations are counted apart, each as long as the last.
    """

    def __init__(self) -> None:
        self._tokens = Tokens(0, 0)
        self._seconds = 0.0
        self._weighted_seconds = self._weights = 0.0
        self._validation_seconds = 0.0

    def record_update(self, tokens: Tokens, seconds: float) -> None:
        """Count an update's tokens and its duration."""
        self._tokens = Tokens(self._tokens.source + tokens.source, self._tokens.target + tokens.target)
        self._seconds += seconds
        decay = 0.5 ** (1 / HALF_LIFE)
        self._weighted_seconds = decay * self._weighted_seconds + seconds
        self._weights = decay * self._weights + 1

    def record_validation(self, seconds: float) -> None:
        """Count a validation's duration, that of saving its checkpoints included."""
        self._validation_seconds = seconds

    def record_train_event(self) -> None:
        """Start to measure the speed for the next `train` event."""
        self._tokens, self._seconds = Tokens(0, 0), 0.0

    @property
    def speed(self) -> Tokens:
        """Tokens per second since the last `train` event; nan before the first update."""
        seconds = self._seconds or math.nan
        return Tokens(self._tokens.source / seconds, self._tokens.target / seconds)

    def seconds_left(self, updates: int, validations: int) -> float:
        """How long so many updates and validations take at the recent speed; nan before the first update."""
        if not self._weights:
            return math.nan
        return updates * self._weighted_seconds / self._weights + validations * self._validation_seconds
