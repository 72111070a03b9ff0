"""The loss of a batch: the model under teacher forcing, and the output layer at real target positions."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.kernels.output_loss import Loss, output_loss
from nmt.model.seq2seq import Seq2Seq


def batch_loss(
    model: Seq2Seq,
    batch: Batch,
    smoothing: float,
    use_reference: Bool[Tensor, "B T"] | None = None,
    done: int | None = None,
) -> Loss:
    """The loss of a batch, summed over its target tokens. `use_reference` and `done` are `Seq2Seq.forward`'s."""
    places = send(batch.places, model.device)  # found on the CPU: for a GPU's own count one would have to wait
    batch = batch.to(model.device)
    if use_reference is not None:
        use_reference = use_reference.to(model.device)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, places, use_reference, done)
    output = model.decoder.output
    return output_loss(features, output.weight, output.bias, batch.target_output.flatten()[places], smoothing)


class BatchLoss(nn.Module):
    """`batch_loss` as a module, which DistributedDataParallel asks for; of no batch the loss is 0, for all weights."""

    def __init__(self, model: Seq2Seq, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(
        self, batch: Batch | None, use_reference: Bool[Tensor, "B T"] | None = None, done: int | None = None
    ) -> Loss:
        if batch is None:
            zero = torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum()
            return Loss(zero, zero.detach())
        return batch_loss(self.model, batch, self.smoothing, use_reference, done)


def perplexity(loss: float) -> float:
    """exp(loss), for a loss in nats per token; infinite where that overflows."""
    return math.exp(loss) if loss < 700 else math.inf
