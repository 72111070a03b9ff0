"""A share of teacher forcing that falls as a mirrored sigmoid does."""

import math
from typing import Self

from pydantic import model_validator

from nmt.registry import Positive
from nmt.schedules.teacher_forcing.base import FallingSchedule, require_between


class InverseSigmoid(FallingSchedule):
    """max(minimum, ratio·k / (k + exp(i/k))) after i updates, k = `decay` (Bengio et al. 2015, section 2.4)."""

    decay: Positive = 1000.0
    """k: the larger, the later it falls."""

    @model_validator(mode="after")
    def _decay_fits(self) -> Self:
        require_between("inverse_sigmoid", self.decay, 1, 1e9)
        return self

    def fallen(self, done: int) -> float:
        # k / (k + exp(i/k)), written so that exp cannot overflow
        return self.ratio / (1 + math.exp(min(done / self.decay - math.log(self.decay), 700.0)))
