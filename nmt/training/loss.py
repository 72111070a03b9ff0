"""The loss of a batch: the model under teacher forcing, and the output layer at real target positions."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.kernels.output_loss import Loss, output_loss, plain_output_loss
from nmt.kernels.sampled_types import TypeSampler
from nmt.model.seq2seq import Seq2Seq


def batch_loss(
    model: Seq2Seq,
    batch: Batch,
    smoothing: float,
    use_reference: Bool[Tensor, "B T"] | None = None,
    done: int | None = None,
    r_drop: float | None = None,
    sampler: TypeSampler | None = None,
) -> Loss:
    """The loss of a batch, summed over its target tokens. `use_reference` and `done` are `Seq2Seq.forward`'s.

    With `r_drop` the batch is read twice, each time with a dropout of its own; see `plain_output_loss`. With a
    `sampler` the output layer has only the types that it chooses, and the loss is an estimate.
    """
    if r_drop is not None:
        batch, use_reference = _twice(batch, use_reference)
    places = batch.loss_positions  # found on the CPU: for a GPU's own count one would have to wait
    if r_drop is not None:
        places = _neighbours(places)
    places = send(places, model.device)
    batch = batch.to(model.device)
    if use_reference is not None:
        use_reference = use_reference.to(model.device)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, places, use_reference, done)
    targets = batch.target_output.flatten()[places]
    weight, bias, targets, stand_for = _known(model.decoder.output, targets, sampler)
    return output_loss(features, weight, bias, targets, smoothing, r_drop, stand_for)


def padded_loss(
    model: Seq2Seq,
    batch: Batch,
    smoothing: float,
    use_reference: Bool[Tensor, "B T"] | None = None,
    r_drop: float | None = None,
    sampler: TypeSampler | None = None,
) -> Loss:
    """`batch_loss` of a batch on the model's device, lengths included, by operations that its shape alone decides.

    It reads the padding too, leaves it out of the sum, and never waits for the device.
    """
    if r_drop is not None:
        batch, use_reference = _twice(batch, use_reference)
    places = torch.arange(batch.target_output.numel(), device=model.device)
    if r_drop is not None:
        places = _neighbours(places)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, places, use_reference)
    targets, counted = batch.target_output.flatten()[places], batch.real.flatten()[places]
    weight, bias, targets, stand_for = _known(model.decoder.output, targets, sampler, padded=True)
    return plain_output_loss(features, weight, bias, targets, smoothing, r_drop, counted, stand_for)


def _twice(batch: Batch, use_reference: Bool[Tensor, "B T"] | None) -> tuple[Batch, Bool[Tensor, "C T"] | None]:
    """All sentences, and all of them once more."""
    twice = Batch(*(torch.cat([part, part]) for part in vars(batch).values()))
    return twice, None if use_reference is None else torch.cat([use_reference, use_reference])


class _Known(NamedTuple):
    """What `output_loss` reads of an output layer, of all target types or of some."""

    weight: Float[Tensor, "C F"]
    bias: Float[Tensor, " C"]
    targets: Int[Tensor, " N"]
    stand_for: Float[Tensor, " C"] | None


def _known(
    output: nn.Linear, targets: Int[Tensor, " N"], sampler: TypeSampler | None, *, padded: bool = False
) -> _Known:
    if sampler is None:
        return _Known(output.weight, output.bias, targets, None)
    sample = sampler.sample(targets, padded=padded)
    weight, bias = F.embedding(sample.types, output.weight), output.bias[sample.types]
    return _Known(weight, bias, sample.targets, sample.stand_for.to(weight.dtype))


def _neighbours(places: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
    """The places of a batch that is read twice: both readings of a token, one after the other."""
    return places.view(2, -1).t().flatten()


class BatchLoss(nn.Module):
    """`batch_loss`, or that of no batch, which is 0 for all weights; a module, as DistributedDataParallel needs one."""

    def __init__(
        self,
        model: Seq2Seq,
        smoothing: float,
        r_drop: float | None = None,
        sampler: TypeSampler | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.r_drop = r_drop
        self.sampler = sampler

    def forward(
        self, batch: Batch | None, use_reference: Bool[Tensor, "B T"] | None = None, done: int | None = None
    ) -> Loss:
        if batch is None:
            zero = torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum()
            return Loss(zero, zero.detach())
        return batch_loss(self.model, batch, self.smoothing, use_reference, done, self.r_drop, self.sampler)


def perplexity(loss: float) -> float:
    """exp(loss), for a loss in nats per token; infinite where that overflows."""
    return math.exp(loss) if loss < 700 else math.inf
