"""Luong's local-p: a predicted position."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.kernels import Linear
from nmt.kernels.tanh import tanh
from nmt.model.scopes.base import Window
from nmt.model.scopes.local import LocalOptions, LocalScope
from nmt.registry import Count, Section


class LocalPredictiveOptions(LocalOptions):
    """The options of local-p."""

    initial_position: Literal["diagonal", "middle"] = "diagonal"
    """Where the centre is before anything is learnt. `diagonal`: as if target word t translated source word t, and what
    is learnt moves it from there. `middle`: in the middle of the source, as in the paper's equation 9."""
    fixed_above: Count = 20
    """While the window narrows and its D is above this number, the centre stays where it begins: in a wide window it
    may learn wrong positions at no cost, which are hard to unlearn. From `narrow_from` on: the centre moves at once."""


class LocalPredictiveScope(LocalScope):
    """local-p: p_t = S · sigmoid(v_pᵀ tanh(W_p h) + d_t), a real number (Luong et al. 2015, equation 9).

    The paper has d_t = 0 (`middle`). With `diagonal` it is logit((min(t, S − 1) + ½) / S): there the centre begins at
    the t-th of S equal parts, so that little has to be learnt where both languages have nearly the same order.
    In training W_p and v_p learn nothing while a narrowing window is wider than `fixed_above`.

    The softmax is multiplied by exp(−(s − p_t)² / 2σ²) with σ = D/2 (equation 10), and not normalised again.
    """

    formula = "the same around p_t = S·sigmoid(v_pᵀ tanh(W_p h) + d_t), times exp(−(s − p_t)² / 2σ²), σ = D/2"
    paper = "Luong et al. 2015, eq. 9, 10"
    cost = "2D + 1 in the place of S, and H²"
    advice = "for long sources"

    Options: ClassVar[type[Section]] = LocalPredictiveOptions

    def __init__(
        self,
        query_size: int,
        *,
        initial_position: Literal["diagonal", "middle"] = "diagonal",
        fixed_above: int = 20,
        **window: Any,
    ) -> None:
        super().__init__(query_size, **window)
        self.initial_position = initial_position
        self.fixed_above = fixed_above
        self.hidden = Linear(query_size, query_size, bias=False)
        self.v = Linear(query_size, 1, bias=False)

    def centre(
        self, query: Float[Tensor, "*B T H"], t: Int[Tensor, "*#B T"], lengths: Int[Tensor, "*#B"]
    ) -> Float[Tensor, "*#B T"]:
        logit = self.v(tanh(self.hidden(query))).squeeze(-1)
        # Of bfloat16 products in float32: bfloat16 has no room for positions.
        logit, length = logit.to(torch.promote_types(logit.dtype, torch.float32)), lengths.unsqueeze(-1)
        if self.initial_position == "diagonal":
            logit = logit + torch.logit((torch.minimum(t, length - 1).to(logit.dtype) + 0.5) / length)
        return length * torch.sigmoid(logit)

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        t: Int[Tensor, "*#B T"],
        mask: Bool[Tensor, "*#B S"],
        lengths: Int[Tensor, "*#B"],
        together: int = 1,
        prepared: tuple[Tensor, ...] = (),
    ) -> Window:
        if prepared and int(prepared[0]) > self.fixed_above:
            query = torch.zeros_like(query)  # of which p_t is d_t's, and the gradients of W_p and v_p are 0
        return super().forward(query, t, mask, lengths, together, prepared)

    def fade(self, distance: Float[Tensor, "*B T W"], window: int) -> Float[Tensor, "*B T W"]:
        return torch.exp(-2 * (distance / window) ** 2)  # 2σ² = D²/2
