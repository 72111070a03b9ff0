"""Luong's general score."""

from __future__ import annotations

from torch import nn

from nmt.kernels import Linear
from nmt.model.scores.product import ProductScore


class GeneralScore(ProductScore):
    """hᵀ W_a v_s (Luong et al. 2015, section 3.1)."""

    formula = "hᵀ W_a v_s"
    paper = "Luong et al. 2015, 3.1"
    advice = "to compare with that paper; its softmax may saturate, which `scaled_general` prevents"

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return Linear(memory_size, query_size, bias=False)
