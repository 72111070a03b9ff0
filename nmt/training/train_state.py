"""What an update changes: the weights, their optimizer, and their moving average."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt import acceleration
from nmt.config.training import TrainingConfig
from nmt.model.seq2seq import Seq2Seq
from nmt.optimizers import Optimizer
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.loss import BatchLoss


class MovingAverage:
    """A copy of a model with an exponential moving average of its weights (Polyak and Juditsky 1992)."""

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model).eval().requires_grad_(False)
        self.model.to(model.device)  # which puts an RNN's weights in one piece of memory, as cuDNN needs them
        self.decay = decay
        self._averages: list[Tensor] = list(self.model.parameters())
        self._weights: list[Tensor] = list(model.parameters())

    def update(self, updates: int) -> None:
        """The new average is d · average + (1 − d) · weights, d = min(decay, (1 + n) / (10 + n)) after n `updates`."""
        keep = min(self.decay, (1 + updates) / (10 + updates))
        with torch.no_grad():
            torch._foreach_lerp_(self._averages, self._weights, 1 - keep)


class TrainState(NamedTuple):
    model: Seq2Seq
    losses: nn.Module  # a `BatchLoss` of the model, or DistributedDataParallel's of one
    add_gradient: acceleration.GradientFunction
    optimizer: torch.optim.Optimizer
    moments: tuple[str, ...]  # the optimizer's, for each weight
    average: MovingAverage | None

    @property
    def result(self) -> Seq2Seq:
        """The model that is validated and kept."""
        return self.model if self.average is None else self.average.model


def new_train_state(
    model: Seq2Seq,
    config: TrainingConfig,
    group: ProcessGroup = SINGLE_PROCESS,
    target_counts: NDArray[np.int64] | None = None,
) -> TrainState:
    """The state before the first update. `target_counts`: each target token's frequency, for a sampled softmax."""
    losses: nn.Module = BatchLoss(model, config.label_smoothing)
    if group.size > 1:
        losses = DistributedDataParallel(losses, gradient_as_bucket_view=True)
    precision = acceleration.resolve_precision(config.precision, model.device, "training", fast=config.fast)
    sampled = None
    if config.sampled_softmax is not None and target_counts is not None:
        sampled = torch.from_numpy(target_counts), config.sampled_softmax
    add_gradient = acceleration.for_training(losses, precision, sampled, fast=config.fast)
    optimizer: Optimizer = config.component("optimizer")
    average = None if config.moving_average is None else MovingAverage(model, config.moving_average)
    return TrainState(model, losses, add_gradient, optimizer.of(model.parameters()), moments_of(optimizer), average)


def moments_of(optimizer: Optimizer) -> tuple[str, ...]:
    """The names of the state that PyTorch's optimizer has for each weight after its first step, such as `exp_avg`."""
    weight = nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    first = optimizer.of([weight])
    first.step()
    return tuple(first.state[weight])
