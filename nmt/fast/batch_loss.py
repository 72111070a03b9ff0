"""The loss of a batch by the fast output layer."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from nmt.fast.output_loss import output_loss, padded_output_loss
from nmt.fast.precision import is_fast
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.training.loss import BatchLoss, Loss


class FastBatchLoss(BatchLoss):
    """The loss with `nmt.fast.output_loss`; with a `sampler` it is an estimate, of a part of the vocabulary."""

    sampler: VocabularySampler | None = None

    def output_loss(self, features: Tensor, targets: Tensor) -> Loss:
        weight, bias, targets, counts = self.output_layer(targets)
        loss = output_loss if is_fast(features) else padded_output_loss
        return loss(features, weight, bias, targets, self.smoothing, self.r_drop, counts=counts)

    def output_layer(self, targets: Tensor, *, padded: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The output layer's weight and bias, the targets as positions among its outputs, and the outputs' counts."""
        output = self.model.decoder.output
        if self.sampler is None:
            return output.weight, output.bias, targets, None
        sample = self.sampler.sample(targets, padded=padded)
        weight = F.embedding(sample.tokens, output.weight)
        return weight, output.bias[sample.tokens], sample.targets, sample.counts.to(weight.dtype)
