"""Weights that do not compete: each position has its own, from 0 to 1.

Shapes: W positions.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt.model.normalizers import Normalizer


class Sigmoid(Normalizer):
    """sigmoid(e_s − log n) for n positions (Ramapuram et al. 2024).

    The weights of a step sum to anything from 0 to n. With all scores 0 the sum is n / (n + 1), whatever the length;
    without −log n it would be n / 2.
    """

    name = "sigmoid"

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        count = inside.sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.sigmoid(scores - count.to(scores.dtype).log()) * inside
