"""1.5-entmax, between softmax and sparsemax: sparse, but smooth where weights become 0.

Shapes: W positions.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt.model.normalizers import Normalizer
from nmt.variants.normalizers.shifting import below_the_largest


class Entmax15(Normalizer):
    """max(0, e_s / 2 − τ)², with the τ for which they sum to 1 (Peters, Niculae and Martins 2019, algorithm 2).

    With μ and σ² the mean and the variance of the k largest values of e / 2, those of the support,
    τ = μ − √(1/k − σ²): the smaller root of k (σ² + (μ − τ)²) = 1. Autograd gives the gradient.
    """

    name = "entmax15"

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        z = below_the_largest(scores, inside, 0.5)
        ordered = z.detach().sort(dim=-1, descending=True).values
        k = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=z.device)
        mean = ordered.cumsum(dim=-1) / k
        variance = (ordered**2).cumsum(dim=-1) / k - mean**2
        thresholds = mean - (1 / k - variance).clamp(min=0).sqrt()
        last = (thresholds <= ordered).sum(dim=-1, keepdim=True) - 1
        support = (z >= ordered.gather(-1, last)) & inside  # with all equal scores, whatever rounding has left out
        size = support.sum(dim=-1, keepdim=True).clamp(min=1)  # 0 if nothing is inside
        mean = (z * support).sum(dim=-1, keepdim=True) / size
        variance = ((z - mean) ** 2 * support).sum(dim=-1, keepdim=True) / size
        threshold = mean - (1 / size.to(z.dtype) - variance).clamp(min=torch.finfo(z.dtype).tiny).sqrt()
        return ((z - threshold).clamp(min=0) ** 2 * inside).to(scores.dtype)
