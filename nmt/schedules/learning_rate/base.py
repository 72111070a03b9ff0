"""What all schedules of the learning rate share."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from nmt.registry import Part, Section, Updates


class Now(NamedTuple):
    """Where training stands."""

    update: int  # the number of the update to come, from 1
    epoch: int  # the number of its epoch, from 1
    reductions: int  # how many plateaus validation has met so far
    share_done: float  # how much of the whole training is done, from 0 to 1


class LearningRateSchedule(Section, Part):
    """A schedule of the learning rate. Its options are its own fields."""

    warmup: Updates = 0
    """Updates over which the learning rate first rises linearly from 0."""

    def rate(self, base: float, now: Now) -> float:
        """The learning rate of the update to come, where `base` is `training.learning_rate`."""
        warm = min(1.0, now.update / self.warmup) if self.warmup else 1.0
        return self.moved(base * warm, now)

    @abstractmethod
    def moved(self, rate: float, now: Now) -> float:
        """The same, from the rate that warm-up gives."""
