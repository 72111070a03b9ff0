"""A share of teacher forcing that falls exponentially."""

from typing import Self

from pydantic import model_validator

from nmt.registry import Positive
from nmt.schedules.teacher_forcing.base import FallingSchedule, require_between


class Exponential(FallingSchedule):
    """max(minimum, ratio·decayⁱ) after i updates (Bengio et al. 2015, section 2.4)."""

    decay: Positive = 0.9999
    """What each update multiplies it by."""

    @model_validator(mode="after")
    def _decay_fits(self) -> Self:
        require_between("exponential", self.decay, 0, 1)
        return self

    def fallen(self, done: int) -> float:
        return self.ratio * self.decay**done
