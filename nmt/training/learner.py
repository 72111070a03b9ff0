"""What an update changes: the weights, their optimizer, and their moving average."""

from __future__ import annotations

from typing import NamedTuple

import torch

from nmt.config import TrainingConfig
from nmt.model.seq2seq import Seq2Seq
from nmt.training.average import MovingAverage
from nmt.training.update import make_optimizer


class Learner(NamedTuple):
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    average: MovingAverage[Seq2Seq] | None

    @property
    def result(self) -> Seq2Seq:
        """The model that is validated and kept."""
        return self.model if self.average is None else self.average.model

    @property
    def is_finite(self) -> bool:
        """Whether every weight is a finite number."""
        return all(bool(parameter.isfinite().all()) for parameter in self.model.parameters())


def make_learner(model: Seq2Seq, config: TrainingConfig) -> Learner:
    """A learner that has made no update yet."""
    average = None if config.moving_average is None else MovingAverage(model, config.moving_average)
    return Learner(model, make_optimizer(model, config), average)
