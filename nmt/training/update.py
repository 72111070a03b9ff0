"""One update of the weights.

for each batch of the update:
    choose where the decoder reads the reference          teacher forcing
    add the gradient of the batch's summed loss           backpropagation
divide the gradient by the number of target tokens, clip its norm
step of the optimizer at this learning rate
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt import acceleration
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch
from nmt.model.scopes import LocalScope
from nmt.model.seq2seq import Seq2Seq
from nmt.optimizers import Optimizer
from nmt.system.device import flush_denormals
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.loss import BatchLoss, Objective


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
    """What an update changes: the weights, their optimizer, and their moving average."""

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
    objective: Objective | None = None,
) -> TrainState:
    """The state before the first update. A sampled softmax needs `target_counts`; `objective` replaces the loss."""
    guided = config.guided_alignment
    losses: nn.Module = BatchLoss(model, config.label_smoothing, guided.loss if guided else None, objective)
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


@flush_denormals()
def update(
    train_state: TrainState,
    batches: Sequence[Batch | None],
    config: TrainingConfig,
    rate: float,
    global_step: int,
    group: ProcessGroup = SINGLE_PROCESS,
) -> float:
    """Update the weights by the gradient of the batches' mean loss per target token; returns their summed NLL, in nats.

    If the loss or the gradient is not finite, no weight is changed, and nan is returned. The mean is over the tokens of
    all batches and all processes, so that n batches, or n processes, equal one batch n times as large. A process passes
    None for a batch of which it has no shard. `rate` is the learning rate, `global_step` the number of updates before.
    """
    model, losses, optimizer = train_state.model, train_state.losses, train_state.optimizer
    set_global_step(losses, global_step)
    [tokens] = group.total(sum(batch.target_tokens for batch in batches if batch))
    forcing = config.teacher_forcing
    ratio = forcing.component("schedule").at(global_step)
    optimizer.zero_grad()
    nll = torch.zeros((), device=model.device)
    for number, batch in enumerate(batches, start=1):
        mask = None
        if batch is not None:
            mask = sample_teacher_forcing_mask(batch.target_input.shape, ratio, forcing.granularity)
        is_last = number == len(batches)  # after which several processes sum their gradients
        with losses.no_sync() if isinstance(losses, DistributedDataParallel) and not is_last else nullcontext():
            nll += train_state.add_gradient(batch, mask)
    if train_state.moments:
        leave_out_unreached(optimizer)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    local_nll, norm_value = torch.stack((nll, norm)).tolist()  # the only wait for a GPU, after all gradients
    [total] = group.total(local_nll)
    if not (math.isfinite(total) and math.isfinite(norm_value)):
        return math.nan
    scale = group.size / tokens  # several processes' gradients are averaged
    if config.clip_norm is not None:
        scale *= min(1, config.clip_norm / (scale * norm_value + 1e-6))
    for gradient in gradients:
        gradient *= scale
    for parameters in optimizer.param_groups:
        parameters["lr"] = rate
    optimizer.step()
    return total


def set_global_step(model: nn.Module, global_step: int) -> None:
    """Set the number of updates before this one, by which a local scope's window and a guidance's weight shrink."""
    for module in model.modules():
        if isinstance(module, LocalScope | BatchLoss):
            module.global_step = global_step


def leave_out_unreached(optimizer: torch.optim.Optimizer) -> None:
    """Leave a weight out of the update while all of its gradients so far were 0.

    Adam's correction of the first steps (Kingma and Ba 2015, section 3) would have faded before its first gradient.
    """
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None and weight not in optimizer.state and not weight.grad.any():
                weight.grad = None


def sample_teacher_forcing_mask(
    shape: Sequence[int], ratio: float, granularity: Literal["token", "step", "batch"]
) -> Bool[Tensor, "B T"] | None:
    """Where the decoder reads the reference (None: everywhere): one choice per token, time step of all, or batch."""
    if ratio >= 1:
        return None
    sentences, steps = shape
    size = {"token": (sentences, steps), "step": (1, steps), "batch": (1, 1)}[granularity]
    return (torch.rand(size) < ratio).expand(sentences, steps)
