"""Bahdanau's additive score."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from nmt.kernels import Linear, additive_scores
from nmt.model.scores.base import Score, ScoreOptions
from nmt.registry import Count, Section


class AdditiveOptions(ScoreOptions):
    """The options of `additive` and `concat`."""

    size: Count | None = None
    """The number A of alignment units, over all heads together. By default the decoder's hidden size."""

    def arguments(self, heads: int) -> dict[str, object]:
        return {"size": None if self.size is None else self.size // heads}


class AdditiveScore(Score):
    """v_aᵀ tanh(W_a h + U_a v_s) (Bahdanau et al. 2015, A.1.2); with coverage + V_a C_s inside the tanh."""

    Options: ClassVar[type[Section]] = AdditiveOptions
    formula = "v_aᵀ tanh(W_a h + U_a v_s)"
    paper = "Bahdanau et al. 2015, A.1.2"
    cost = "S (A + M) + H·A, and S·A tanh"
    advice = "by default: works with any sizes, and has the best BLEU on Multi30k"
    batched = False

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False, size: int | None = None) -> None:
        super().__init__(query_size, memory_size)
        size = size or query_size
        self.query = Linear(query_size, size, bias=False)
        self.memory = Linear(memory_size, size, bias=False)
        self.v = Linear(size, 1, bias=False)
        self.coverage = Linear(1, size, bias=False) if coverage else None

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "*B T S"] | None = None,
    ) -> Float[Tensor, "*B T S"]:
        query, v = self.query(query), self.v.weight.squeeze(0)
        if self.coverage is None or coverage is None:
            return additive_scores(query, keys, v)
        # What a query has covered changes its keys: each has keys of its own, (*B T S A).
        keys = keys.unsqueeze(-3) + coverage.unsqueeze(-1) * self.coverage.weight.squeeze(1)
        return additive_scores(query.unsqueeze(-2), keys, v).squeeze(-2)
