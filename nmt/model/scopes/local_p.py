"""Luong's local-p: a predicted position."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.kernels import Linear
from nmt.model.scopes.local import LocalOptions, LocalScope
from nmt.parts import Section


class LocalPredictiveOptions(LocalOptions):
    """The options of local-p."""

    initial_position: Literal["diagonal", "middle"] = "diagonal"
    """Where the centre is before anything is learnt. `diagonal`: as if source and target ran side by side, and what is
    learnt moves it from there. `middle`: in the middle of the source, as in the paper's equation 9."""


class LocalPredictiveScope(LocalScope):
    """local-p: p_t = S · sigmoid(v_pᵀ tanh(W_p h) + d_t), a real number (Luong et al. 2015, equation 9).

    The paper has d_t = 0 (`middle`). With `diagonal` it is logit((min(t, S − 1) + ½) / S): there the centre begins at
    the t-th of S equal parts, so that little has to be learnt where both languages have nearly the same order.

    The softmax is multiplied by exp(−(s − p_t)² / 2σ²) with σ = D/2 (equation 10), and not normalised again.
    """

    formula = "the same around p_t = S·sigmoid(v_pᵀ tanh(W_p h) + d_t), times exp(−(s − p_t)² / 2σ²), σ = D/2"
    paper = "Luong et al. 2015, eq. 9, 10"
    cost = "2D + 1 in the place of S, and H²"
    advice = "for long sources"

    Options: ClassVar[type[Section]] = LocalPredictiveOptions

    def __init__(
        self, query_size: int, *, initial_position: Literal["diagonal", "middle"] = "diagonal", **window: Any
    ) -> None:
        super().__init__(query_size, **window)
        self.initial_position = initial_position
        self.hidden = Linear(query_size, query_size, bias=False)
        self.v = Linear(query_size, 1, bias=False)

    def centre(
        self, query: Float[Tensor, "*B T H"], t: Int[Tensor, "*#B T"], lengths: Int[Tensor, "*#B"]
    ) -> Float[Tensor, "*#B T"]:
        logit = self.v(torch.tanh(self.hidden(query))).squeeze(-1)
        # Of bfloat16 products in float32: bfloat16 has no room for positions.
        logit, length = logit.to(torch.promote_types(logit.dtype, torch.float32)), lengths.unsqueeze(-1)
        if self.initial_position == "diagonal":
            logit = logit + torch.logit((torch.minimum(t, length - 1).to(logit.dtype) + 0.5) / length)
        return length * torch.sigmoid(logit)

    def fade(self, distance: Float[Tensor, "*B T W"], window: int) -> Float[Tensor, "*B T W"]:
        return torch.exp(-2 * (distance / window) ** 2)  # 2σ² = D²/2
