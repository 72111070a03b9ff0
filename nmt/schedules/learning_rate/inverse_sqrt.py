"""Vaswani's schedule: a learning rate that falls with the root of the update's number."""

import math
from typing import Self

from pydantic import model_validator

from nmt.registry import Updates
from nmt.schedules.learning_rate.base import LearningRateSchedule, Now


class InverseSqrt(LearningRateSchedule):
    """After warm-up the learning rate is in proportion to 1/√i at the i-th update.

    Vaswani et al. 2017, section 5.3.
    """

    warmup: Updates = 1000

    @model_validator(mode="after")
    def _warms_up(self) -> Self:
        if self.warmup == 0:
            raise ValueError("kind: inverse_sqrt needs warmup above 0; set it, for example to 1000")
        return self

    def moved(self, rate: float, now: Now) -> float:
        return rate * math.sqrt(self.warmup / max(now.update, self.warmup))
