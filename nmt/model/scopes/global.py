"""The scope that sees the whole source."""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.model.scopes.base import Scope, Window


class GlobalScope(Scope):
    """All of the sentence's positions."""

    formula = "softmax over all S"
    paper = "Bahdanau et al. 2015; Luong et al. 2015, 3.1"
    cost = "the score's"
    advice = "by default"

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        t: Int[Tensor, "*#B T"],
        mask: Bool[Tensor, "*#B S"],
        lengths: Int[Tensor, "*#B"],
        together: int = 1,
        prepared: tuple[Tensor, ...] = (),
    ) -> Window:
        return Window(mask.unsqueeze(-2))
