"""A learning rate that stays."""

from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class Constant(LearningRateSchedule):
    """The learning rate stays as it is."""

    def moved(self, rate: float, now: Now) -> float:
        return rate
