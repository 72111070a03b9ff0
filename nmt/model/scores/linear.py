"""The score of some tutorials that leaves the tanh out of `concat`."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from nmt.kernels import Linear
from nmt.model.scores.base import Score


class LinearScore(Score):
    """w_aᵀ [h; v_s], the "simplified concat" of some tutorials: `concat` without its tanh.

    Other tutorials call Bahdanau's score, the one with a tanh, "linear" or "MLP" attention; here that is `additive`.

    It is the sum of a term in h and a term in v_s, and a softmax ignores what is the same at every position: the
    weights do not depend on the query, and no gradient reaches its half of w_a. The context is one and the same at
    every step, unless coverage or a local scope change it.
    """

    formula = "w_aᵀ [h; v_s]"
    paper = 'the "simplified concat" of some tutorials'
    cost = "S·M"
    advice = "never: its softmax does not depend on h; use it to show what goes wrong"

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__(query_size, memory_size)
        self.query = Linear(query_size, 1, bias=False)
        self.memory = Linear(memory_size, 1, bias=False)
        self.coverage = Linear(1, 1, bias=False) if coverage else None

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "*B T S"] | None = None,
    ) -> Float[Tensor, "*B T S"]:
        scores = self.query(query) + keys.transpose(-2, -1)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage.weight * coverage
        return scores
