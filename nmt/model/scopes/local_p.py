"""Luong's local-p: a predicted position."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.kernels import Linear
from nmt.model.scopes.local import LocalScope


class LocalPredictiveScope(LocalScope):
    """local-p: p_t = S · sigmoid(v_pᵀ tanh(W_p h)), a real number (Luong et al. 2015, equation 9).

    The softmax is multiplied by exp(−(s − p_t)² / 2σ²) with σ = D/2 (equation 10), and not normalised again.
    """

    formula = "the same around p_t = S·sigmoid(v_pᵀ tanh(W_p h)), times exp(−(s − p_t)² / 2σ²), σ = D/2"
    paper = "Luong et al. 2015, eq. 9, 10"
    cost = "2D + 1 in the place of S, and H²"
    advice = "for long sources"

    def __init__(self, query_size: int, **window: Any) -> None:
        super().__init__(query_size, **window)
        self.hidden = Linear(query_size, query_size, bias=False)
        self.v = Linear(query_size, 1, bias=False)

    def centre(
        self, query: Float[Tensor, "*B T H"], t: Int[Tensor, "*#B T"], lengths: Int[Tensor, "*#B"]
    ) -> Float[Tensor, "*#B T"]:
        logit = self.v(torch.tanh(self.hidden(query))).squeeze(-1)
        # Of bfloat16 products in float32: bfloat16 has no room for positions.
        return lengths.unsqueeze(-1) * torch.sigmoid(logit.to(torch.promote_types(logit.dtype, torch.float32)))

    def fade(self, distance: Float[Tensor, "*B T W"], window: int) -> Float[Tensor, "*B T W"]:
        return torch.exp(-2 * (distance / window) ** 2)  # 2σ² = D²/2
