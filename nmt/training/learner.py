"""What an update changes: the weights, their optimizer, and their moving average."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from nmt.config.training import TrainingConfig
from nmt.data.training_set import TrainingSet
from nmt.kernels.sampled_types import TypeSampler
from nmt.model.seq2seq import Seq2Seq
from nmt.training.average import MovingAverage
from nmt.training.distributed import ALONE, World
from nmt.training.loss import BatchLoss
from nmt.training.partner import Partner
from nmt.training.recorded import Recorder


class Learner(NamedTuple):
    model: Seq2Seq
    losses: nn.Module  # a `BatchLoss` of the model, or one that adds up the gradients of all processes
    optimizer: torch.optim.Optimizer
    moments: tuple[str, ...]  # what it keeps of each weight
    average: MovingAverage[Seq2Seq] | None
    partner: Partner | None  # of a processor
    recorder: Recorder | None  # of a GPU

    @property
    def result(self) -> Seq2Seq:
        """The model that is validated and kept."""
        return self.model if self.average is None else self.average.model

    @property
    def is_finite(self) -> bool:
        """Whether every weight is a finite number."""
        return all(bool(parameter.isfinite().all()) for parameter in self.model.parameters())

    def close(self) -> None:
        """End the partner's process, if it has started."""
        if self.partner is not None:
            self.partner.close()


def make_learner(
    model: Seq2Seq, config: TrainingConfig, world: World = ALONE, sampler: TypeSampler | None = None
) -> Learner:
    """A learner that has made no update yet."""
    own = BatchLoss(model, config.label_smoothing, config.r_drop, sampler)
    alone = world.size == 1
    losses = own if alone else DistributedDataParallel(own, gradient_as_bucket_view=True)
    partner = Partner(own) if alone and Partner.is_possible() else None
    optimizer = config.component("optimizer")
    average = None if config.moving_average is None else MovingAverage(model, config.moving_average)
    recorder = Recorder(own) if alone and Recorder.is_possible(model) else None
    return Learner(model, losses, optimizer.of(model.parameters()), optimizer.moments, average, partner, recorder)


def make_sampler(pairs: TrainingSet, config: TrainingConfig, device: torch.device) -> TypeSampler | None:
    """What chooses the types for which an update computes the output layer; None for all."""
    if config.sampled_softmax is None:
        return None
    return TypeSampler(torch.from_numpy(pairs.target_counts).to(device), config.sampled_softmax)
