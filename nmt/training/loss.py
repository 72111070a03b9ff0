"""The loss of a batch: the model under teacher forcing, and the output layer at real target positions.

Shapes: B sentences, T target positions, N target tokens, F what the output layer multiplies, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.model.attention import Alignment
from nmt.model.seq2seq import Seq2Seq

Guidance: TypeAlias = Callable[[Alignment, Float[Tensor, "B T S"], int], Float[Tensor, ""]]
Objective: TypeAlias = Callable[["BatchLoss", Batch], "Loss"]


class Loss(NamedTuple):
    """Sums over target tokens, in nats."""

    smoothed: Float[Tensor, ""]  # what training minimises
    nll: Float[Tensor, ""]  # negative log-likelihood of the reference, for perplexity


class BatchLoss(nn.Module):
    """The loss of a batch, summed over its target tokens. A module, because DistributedDataParallel needs one.

    `guidance` adds a loss of attention weights and a batch's links, after so many updates. `objective` replaces it all.
    """

    global_step = 0

    def __init__(
        self, model: Seq2Seq, smoothing: float, guidance: Guidance | None = None, objective: Objective | None = None
    ) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing
        self.guidance, self.objective = guidance, objective

    def forward(self, batch: Batch | None, teacher_forcing_mask: Bool[Tensor, "B T"] | None = None) -> Loss:
        """The loss; of no batch 0, with a gradient of 0 for all weights."""
        if batch is None:
            zero = torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum()
            return Loss(zero, zero.detach())
        if self.objective is not None:
            return self.objective(self, batch)
        device = self.model.device  # the positions are counted on the CPU, which would have to wait for a GPU's count
        positions, batch = send(batch.loss_positions, device), batch.to(device)
        if teacher_forcing_mask is not None:
            teacher_forcing_mask = teacher_forcing_mask.to(device)
        features, alignment = self.model(
            batch.source, batch.source_lengths, batch.target_input, positions, teacher_forcing_mask
        )
        loss = self.output_loss(features, batch.target_output.flatten()[positions])
        if self.guidance is None or batch.links is None:
            return loss
        return Loss(loss.smoothed + self.guidance(alignment, batch.links, self.global_step), loss.nll)

    def output_loss(self, features: Float[Tensor, "N F"], targets: Int[Tensor, " N"]) -> Loss:
        """The loss of the output layer's tokens."""
        logits = self.model.decoder.output(features)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return cross_entropy(logits, targets, self.smoothing)


def cross_entropy(logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float) -> Loss:
    """(1 − ε) · −log p(y) + ε · the mean of −log p over the vocabulary (Szegedy et al. 2016, section 7)."""
    nll = F.cross_entropy(logits, targets, reduction="sum")
    if smoothing == 0:
        return Loss(nll, nll.detach())
    return Loss(F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing), nll.detach())


def perplexity(loss: float) -> float:
    """exp(loss), for a loss in nats per token; infinite where that overflows."""
    return math.exp(loss) if loss < 700 else math.inf
