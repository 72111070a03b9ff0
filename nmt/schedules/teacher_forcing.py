"""How often the decoder reads the reference's previous token (Bengio et al. 2015, section 2.4).

`training.teacher_forcing.schedule` selects one of these schedules.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Self

from pydantic import model_validator

from nmt.registry import Positive, Probability, Section


class TeacherForcingSchedule(Section):
    """The probability with which the decoder reads the reference. Its options are its own fields."""

    name: ClassVar[str]  # in the config

    ratio: Probability = 1.0
    """The probability of reading the reference's previous token, at the start of training."""

    @abstractmethod
    def at(self, updates: int) -> float:
        """The probability after so many updates."""


class Constant(TeacherForcingSchedule):
    """The probability stays at `ratio`."""

    name = "constant"

    def at(self, updates: int) -> float:
        return self.ratio


class FallingSchedule(TeacherForcingSchedule):
    """A probability that falls to a minimum."""

    decay_range: ClassVar[tuple[float, float]]  # exclusive

    decay: Positive
    """How fast it falls."""
    minimum: Probability = 0.0
    """The probability below which it does not fall."""

    @model_validator(mode="after")
    def _falls(self) -> Self:
        low, high = self.decay_range
        if not low < self.decay < high:
            raise ValueError(
                f"schedule: {self.name} needs decay between {low:g} and {high:g} (here: {self.decay}); change it"
            )
        if self.minimum > self.ratio:
            raise ValueError(f"minimum ({self.minimum}) is above ratio ({self.ratio}); lower it")
        return self

    def at(self, updates: int) -> float:
        return max(self.minimum, self.without_minimum(updates))

    @abstractmethod
    def without_minimum(self, updates: int) -> float:
        """The same without the minimum."""


class Exponential(FallingSchedule):
    """max(minimum, ratio·decayⁱ) after i updates (Bengio et al. 2015, section 2.4)."""

    name = "exponential"
    decay_range = (0, 1)

    decay: Positive = 0.9999
    """What each update multiplies it by."""

    def without_minimum(self, updates: int) -> float:
        return self.ratio * self.decay**updates


class InverseSigmoid(FallingSchedule):
    """max(minimum, ratio·k / (k + exp(i/k))) after i updates, k = `decay` (Bengio et al. 2015, section 2.4)."""

    name = "inverse_sigmoid"
    decay_range = (1, 1e9)

    decay: Positive = 1000.0
    """k: the larger, the later it falls."""

    def without_minimum(self, updates: int) -> float:
        # k / (k + exp(i/k)), written so that exp cannot overflow
        return self.ratio / (1 + math.exp(min(updates / self.decay - math.log(self.decay), 700.0)))


class Linear(FallingSchedule):
    """max(minimum, ratio − decay·i) after i updates (Bengio et al. 2015, section 2.4)."""

    name = "linear"
    decay_range = (0, 1)

    decay: Positive = 0.0001
    """What each update takes away."""

    def without_minimum(self, updates: int) -> float:
        return self.ratio - self.decay * updates
