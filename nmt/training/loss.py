"""The loss of a batch: the model under teacher forcing, and the output layer at real target positions."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.kernels.output_loss import Loss, output_loss, summed
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


def r_drop_loss(
    model: Seq2Seq,
    batch: Batch,
    smoothing: float,
    alpha: float,
    use_reference: Bool[Tensor, "B T"] | None = None,
    done: int | None = None,
) -> Loss:
    """The loss of a batch that is read twice, each time with a dropout of its own (Wu et al. 2021, equation 4).

    With p and q the two distributions of a token, it is half of the paper's, so that it equals `batch_loss` where they
    are the same: ½ (CE(p) + CE(q)) + α/4 (KL(p‖q) + KL(q‖p)), summed over target tokens.
    """
    both = Batch(*(torch.cat([part, part]) for part in vars(batch).values()))
    places = send(both.places, model.device)
    both = both.to(model.device)
    if use_reference is not None:
        use_reference = torch.cat([use_reference, use_reference]).to(model.device)
    features, _ = model(both.source, both.source_lengths, both.target_input, places, use_reference, done)
    logits = model.decoder.output(features)
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=1)
    loss = summed(log_probabilities, both.target_output.flatten()[places], smoothing)
    p, q = log_probabilities.chunk(2)
    divergence = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
    return Loss(loss.smoothed / 2 + alpha / 4 * divergence, loss.nll / 2)


class BatchLoss(nn.Module):
    """The loss of a batch, or of none, which is 0 for all weights, as a module: DistributedDataParallel asks for one.

    With `r_drop` it is `r_drop_loss`, otherwise `batch_loss`.
    """

    def __init__(self, model: Seq2Seq, smoothing: float, r_drop: float | None = None) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.r_drop = r_drop

    def forward(
        self, batch: Batch | None, use_reference: Bool[Tensor, "B T"] | None = None, done: int | None = None
    ) -> Loss:
        if batch is None:
            zero = torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum()
            return Loss(zero, zero.detach())
        if self.r_drop is not None:
            return r_drop_loss(self.model, batch, self.smoothing, self.r_drop, use_reference, done)
        return batch_loss(self.model, batch, self.smoothing, use_reference, done)


def perplexity(loss: float) -> float:
    """exp(loss), for a loss in nats per token; infinite where that overflows."""
    return math.exp(loss) if loss < 700 else math.inf
