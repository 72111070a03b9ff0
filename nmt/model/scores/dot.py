"""Luong's dot score."""

from __future__ import annotations

from torch import nn

from nmt.model.scores.product import ProductScore


class DotScore(ProductScore):
    """hᵀ v_s (Luong et al. 2015, section 3.1). Needs H = M."""

    formula = "hᵀ v_s"
    paper = "Luong et al. 2015, 3.1"
    advice = "for a score without parameters, if H = M"
    equal_sizes_or = "general"

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return nn.Identity()
