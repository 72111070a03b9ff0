"""What all schedules of teacher forcing share (Bengio et al. 2015, section 2.4)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from pydantic import model_validator

from nmt.registry import Part, Probability, Section


class TeacherForcingSchedule(Section, Part):
    """How the probability moves with which the decoder reads the reference. Its options are its own fields."""

    ratio: Probability = 1.0
    """The probability of reading the reference's previous token, at the start of training."""

    @abstractmethod
    def at(self, done: int) -> float:
        """The probability after `done` updates."""


class FallingSchedule(TeacherForcingSchedule):
    """A probability that falls to a minimum."""

    minimum: Probability = 0.0
    """The probability below which it does not fall."""

    @model_validator(mode="after")
    def _falls(self) -> Self:
        if self.minimum > self.ratio:
            raise ValueError(f"minimum ({self.minimum}) is above ratio ({self.ratio}); lower it")
        return self

    def at(self, done: int) -> float:
        return max(self.minimum, self.fallen(done))

    @abstractmethod
    def fallen(self, done: int) -> float:
        """The same without the minimum."""


def require_between(schedule: str, decay: float, low: float, high: float) -> None:
    """Raise ValueError unless low < decay < high."""
    if not low < decay < high:
        raise ValueError(f"schedule: {schedule} needs decay between {low} and {high:g} (here: {decay}); change it")
