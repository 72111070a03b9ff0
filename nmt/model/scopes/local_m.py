"""Luong's local-m: source and target side by side."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.model.scopes.local import LocalScope


class LocalMonotonicScope(LocalScope):
    """local-m: p_t = min(t, S − 1), as if target word t translated source word t (Luong et al. 2015, section 3.2)."""

    formula = "softmax over p_t ± D, p_t = min(t, S − 1)"
    paper = "Luong et al. 2015, 3.2"
    cost = "2D + 1 in the place of S"
    advice = "for languages with the same word order, and long sources"

    def centre(
        self, query: Float[Tensor, "*B T H"], t: Int[Tensor, "*#B T"], lengths: Int[Tensor, "*#B"]
    ) -> Float[Tensor, "*#B T"]:
        return torch.minimum(t, lengths.unsqueeze(-1) - 1).float()  # exact, whatever the query's precision
