"""The gradient of a batch's loss: by this process alone, or half of it by a `Partner`."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.kernels.output_loss import Loss
from nmt.kernels.precision import autocast, products_in
from nmt.kernels.processor import Precision
from nmt.kernels.switch import fast, in_use
from nmt.training.learner import Learner
from nmt.training.partner import Gradients, Part, Partner, gradients_of

SENTENCES = 16  # of a half: with fewer, what is done for each weight takes longer than it saves


def add_gradient(
    learner: Learner,
    batch: Batch | None,
    use_reference: Bool[Tensor, "B T"] | None,
    done: int,
    precision: Precision,
) -> Float[Tensor, ""]:
    """Add the gradient of a batch's summed loss to the weights'; returns its summed NLL, in nats.

    With products in this precision. `use_reference` and `done` are `Seq2Seq.forward`'s.
    """
    if batch is not None and learner.partner is not None and _is_worth_two(batch, learner.model):
        return _by_two(learner.partner, *_halves(batch, use_reference, done, precision))
    bf16 = precision == "bf16"
    if batch is not None and learner.recorder is not None and in_use() == "fast":
        return learner.recorder.add_gradient(batch, use_reference, bf16)
    with products_in(precision):
        with autocast(learner.model.device, wanted=bf16):
            loss: Loss = learner.losses(batch, use_reference, done)
        loss.smoothed.backward()
    return loss.nll.detach()


def _is_worth_two(batch: Batch, model: nn.Module) -> bool:
    return torch.get_num_threads() > 1 and len(batch.source) >= 2 * SENTENCES and fast(next(model.parameters()))


def _halves(batch: Batch, use_reference: Bool[Tensor, "B T"] | None, done: int, precision: Precision) -> list[Part]:
    """Every other sentence each: neighbours are alike in length."""
    halves = []
    for first, seed in enumerate(torch.randint(2**63 - 1, (2,)).tolist()):
        half = batch.shard(first, 2)
        coins = None if use_reference is None else use_reference[first::2, : half.target_input.shape[1]].contiguous()
        halves.append(Part(half, seed, coins, done, precision))
    return halves


def _by_two(partner: Partner, own: Part, other: Part) -> Float[Tensor, ""]:
    partner.begin(other)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads - threads // 2)
    try:
        own_nll, gradients = gradients_of(partner.losses, own)
        _add(partner, gradients, lasting=True)  # while the other process copies its own
        other_nll, gradients = partner.end()
    finally:
        torch.set_num_threads(threads)
    _add(partner, gradients, lasting=False)
    return own_nll + other_nll


def _add(partner: Partner, gradients: Gradients, *, lasting: bool) -> None:
    """Add gradients to the weights', as each weight lies in memory: the optimizer walks along both.

    Only `lasting` ones, which nothing overwrites later, can become a weight's own.
    """
    for weight, gradient in zip(partner.losses.parameters(), gradients, strict=True):
        if gradient is None:
            continue
        if weight.grad is not None:
            weight.grad += gradient
        elif lasting and gradient.is_contiguous():
            weight.grad = gradient
        else:
            weight.grad = torch.empty_like(weight).copy_(gradient)
