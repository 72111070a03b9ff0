"""How often the decoder reads the reference (Bengio et al. 2015, section 2.4): `training.teacher_forcing.schedule`."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from nmt.registry import Fraction, Probability, Section


class TeacherForcingSchedule(Section):
    """The probability with which the decoder reads the reference. Its options are its own fields."""

    name: ClassVar[str]  # in the config

    ratio: Probability = 1.0
    """The probability of reading the reference at the start of training."""

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

    minimum: Probability = 0.0
    """The lowest probability."""

    @model_validator(mode="after")
    def _falls(self) -> Self:
        if self.minimum > self.ratio:
            raise ValueError(f"minimum ({self.minimum}) is above ratio ({self.ratio}); lower it")
        return self


class Exponential(FallingSchedule):
    """max(minimum, ratio·decayⁱ) after i updates (Bengio et al. 2015, section 2.4)."""

    name = "exponential"

    decay: Fraction = 0.9999
    """The factor of each update."""

    def at(self, updates: int) -> float:
        return max(self.minimum, self.ratio * self.decay**updates)


class InverseSigmoid(FallingSchedule):
    """max(minimum, ratio·k / (k + exp(i/k))) after i updates, k = `decay` (Bengio et al. 2015, section 2.4)."""

    name = "inverse_sigmoid"

    decay: Annotated[float, Field(gt=1, lt=1e9)] = 1000.0
    """k: the larger, the later it falls."""

    def at(self, updates: int) -> float:
        # k / (k + exp(i/k)), written so that exp cannot overflow
        exponent = min(updates / self.decay - math.log(self.decay), 700.0)
        return max(self.minimum, self.ratio / (1 + math.exp(exponent)))


class Linear(FallingSchedule):
    """max(minimum, ratio − decay·i) after i updates (Bengio et al. 2015, section 2.4)."""

    name = "linear"

    decay: Fraction = 0.0001
    """What each update subtracts."""

    def at(self, updates: int) -> float:
        return max(self.minimum, self.ratio - self.decay * updates)
