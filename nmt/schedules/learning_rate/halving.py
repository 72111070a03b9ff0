"""Luong's schedule: a learning rate that falls after each epoch."""

from nmt.registry import Count, Fraction
from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class Halving(LearningRateSchedule):
    """The learning rate is multiplied by `factor` after each epoch from number `start_epoch` on.

    Luong et al. 2015, section 4.1 halve it after each epoch once 5 are done.
    """

    factor: Fraction = 0.5
    """What the learning rate is multiplied by."""
    start_epoch: Count = 5
    """The number of the first epoch (from 1) after which the learning rate falls."""

    def moved(self, rate: float, now: Now) -> float:
        return rate * self.factor ** max(0, now.epoch - self.start_epoch)
