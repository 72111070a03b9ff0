"""A learning rate that falls as half a cosine wave does."""

import math

from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class Cosine(LearningRateSchedule):
    """The learning rate falls to 0 over the whole training, as half a cosine wave does.

    Loshchilov and Hutter 2017, equation 5.
    """

    def moved(self, rate: float, now: Now) -> float:
        return rate * (1 + math.cos(math.pi * now.share_done)) / 2
