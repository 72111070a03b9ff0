"""The projection onto the simplex, which gives low scores the weight 0.

Shapes: W positions.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt.model.normalizers import Normalizer
from nmt.variants.normalizers.shifting import below_the_largest


class Sparsemax(Normalizer):
    """max(0, e_s − τ), with the τ for which they sum to 1 (Martins and Astudillo 2016, algorithm 1).

    With the k largest scores in the support, τ = (their sum − 1) / k. The gradient of a weight in the support is that
    of its score minus the mean over the support: autograd finds it, because τ is computed from the scores.
    """

    name = "sparsemax"

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        z = below_the_largest(scores, inside)
        ordered = z.sort(dim=-1, descending=True).values
        k = torch.arange(1, z.shape[-1] + 1, device=z.device)
        sums = ordered.cumsum(dim=-1) - 1
        size = (k * ordered > sums).sum(dim=-1, keepdim=True)
        threshold = sums.gather(-1, size - 1) / size
        return ((z - threshold).clamp(min=0) * inside).to(scores.dtype)
