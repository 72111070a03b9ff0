"""A learning rate that stays, and falls at the end."""

from nmt.registry import Fraction
from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class Trapezoid(LearningRateSchedule):
    """The learning rate stays as it is, and falls linearly to 0 over the last part of the whole training.

    Zhai et al. 2022, section 3.5; Hägele et al. 2024, section 3 compare it with a cosine.
    """

    decay: Fraction = 0.2
    """The share of the training, at its end, over which the learning rate falls."""

    def moved(self, rate: float, now: Now) -> float:
        return rate * min(1.0, (1 - now.share_done) / self.decay)
