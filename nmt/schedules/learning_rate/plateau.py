"""A learning rate that falls where validation stops improving."""

from nmt.registry import Count, Fraction
from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class Plateau(LearningRateSchedule):
    """The learning rate is multiplied by `factor` after `patience` validations without a better score."""

    factor: Fraction = 0.5
    """What the learning rate is multiplied by."""
    patience: Count = 1
    """Validations without a better score before the learning rate falls."""

    def moved(self, rate: float, now: Now) -> float:
        return rate * self.factor**now.reductions
