"""One update of the weights: teacher forcing, loss, gradient, optimizer step."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch
from nmt.system.denormals import flush_denormals
from nmt.system.device import keep_freed_memory
from nmt.training.distributed import ALONE, World
from nmt.training.gradient import add_gradient
from nmt.training.learner import Learner
from nmt.training.precision import choose_precision


def update(
    learner: Learner,
    batches: Sequence[Batch | None],
    config: TrainingConfig,
    rate: float,
    done: int,
    world: World = ALONE,
) -> float:
    """Update the weights by the gradient of the batches' mean loss per target token; returns their summed NLL, in nats.

    If the loss or the gradient is not finite, no weight is changed, and nan is returned. The mean is over the tokens of
    all batches and all processes, so that n batches, or n processes, equal one batch n times as large. A process passes
    None for a batch that it has no part in. `rate` is the learning rate, `done` the number of updates made before.
    """
    flush_denormals()  # in this thread, which may be another than that of the import
    keep_freed_memory()
    model, optimizer = learner.model, learner.optimizer
    [tokens] = world.total(sum(batch.target_tokens for batch in batches if batch))
    forcing = config.teacher_forcing
    ratio = forcing.component("schedule").at(done)
    optimizer.zero_grad()
    nll = torch.zeros((), device=model.device)
    in_graphs = learner.recorder is not None
    precision = choose_precision(config.precision, model.device, in_graphs=in_graphs).precision
    for number, batch in enumerate(batches, start=1):
        shared = random.Random(f"{config.seed} {done} {number}") if world.size > 1 else None
        use_reference = None if batch is None else toss(batch.target_input.shape, ratio, forcing.granularity, shared)
        with gradients_summed(learner.losses, now=number == len(batches)):
            nll += add_gradient(learner, batch, use_reference, done, precision)
    if learner.moments:
        leave_out_unreached(optimizer)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    own, norm_there = torch.stack((nll, norm)).tolist()  # for a GPU the only wait, once every weight has had a gradient
    [total] = world.total(own)
    if not (math.isfinite(total) and math.isfinite(norm_there)):
        return math.nan
    scale = world.size / tokens  # several processes' gradients are averaged
    if config.clip_norm is not None:
        scale *= min(1, config.clip_norm / (scale * norm_there + 1e-6))
    for gradient in gradients:
        gradient *= scale
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return total


def leave_out_unreached(optimizer: torch.optim.Optimizer) -> None:
    """Let a weight of which every gradient so far was 0 wait for its first one.

    Adam would count the updates that it waits. Its correction of the first steps (Kingma and Ba 2015, section 3) would
    have faded when they come, and they would be several times too large.
    """
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None and weight not in optimizer.state and not weight.grad.any():
                weight.grad = None


def gradients_summed(losses: nn.Module, *, now: bool) -> AbstractContextManager[None]:
    """Whether several processes sum their gradients after this backward pass, or not yet."""
    return losses.no_sync() if isinstance(losses, DistributedDataParallel) and not now else nullcontext()


def toss(
    shape: Sequence[int],
    ratio: float,
    granularity: Literal["token", "step", "batch"],
    shared: random.Random | None = None,
) -> Bool[Tensor, "B T"] | None:
    """Where the decoder reads the reference, or None for everywhere.

    A coin is tossed for each token, for each time step of all sentences, or once for the batch. Of several processes
    each has a part of the batch: `shared`, alike in all of them, gives those of a time step or a batch.
    """
    if ratio >= 1:
        return None
    sentences, steps = shape
    coins = {"token": (sentences, steps), "step": (1, steps), "batch": (1, 1)}[granularity]
    if shared is None or granularity == "token":
        tossed = torch.rand(coins)
    else:
        tossed = torch.tensor([[shared.random() for _ in range(coins[1])]])
    return (tossed < ratio).expand(sentences, steps)
