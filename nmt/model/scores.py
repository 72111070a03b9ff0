"""How well a query fits a source position: the scores of Bahdanau, Luong and Vaswani.

A score has two halves. `keys` is what it needs of the memory, computed once per sentence; `forward` compares queries
with keys, at every step. With coverage (Tu et al. 2016, section 3, without fertilities) a score has one feature more of
each position, C_s, the sum of the attention weights that it got so far: v_s becomes [v_s; C_s] in each of the formulas.

Shapes: B batch, T queries per sentence, S source positions, H query, M memory vector, A alignment. Bn is B, or with n
heads B·n: what the leading sizes of the keys make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels.additive import additive_scores
from nmt.kernels.linear import Linear
from nmt.kernels.products import inner_products

ScoreName = Literal["additive", "concat", "linear", "general", "dot", "scaled_dot", "scaled_general", "location"]


class Score(nn.Module, ABC):
    """Scores of queries against source positions, before any normalisation."""

    positions: int | None = None  # how many of them it can score; None: any number
    batched = True  # whether one matrix product answers all queries of a sentence
    memory: nn.Module  # what makes the keys
    coverage: Linear | None  # the weights of coverage, in a score that has it

    def keys(self, values: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        """What is scored at each position."""
        return self.memory(values)

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "Bn T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "Bn T S"] | None = None,
    ) -> Float[Tensor, "Bn T S"]:
        """The scores; `coverage` is None if and only if the score was made without it."""


class AdditiveScore(Score):
    """v_aᵀ tanh(W_a h + U_a v_s): Bahdanau et al. 2015, A.1.2; with coverage + V_a C_s inside the tanh.

    Luong et al. 2015, section 3.1 write it as `concat`, v_aᵀ tanh(W [h; v_s]): the same function, with W = [W_a U_a].
    """

    batched = False

    def __init__(self, query_size: int, memory_size: int, size: int, *, coverage: bool = False) -> None:
        super().__init__()
        self.query = Linear(query_size, size, bias=False)
        self.memory = Linear(memory_size, size, bias=False)
        self.v = Linear(size, 1, bias=False)
        self.coverage = Linear(1, size, bias=False) if coverage else None

    def forward(
        self,
        query: Float[Tensor, "Bn T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "Bn T S"] | None = None,
    ) -> Float[Tensor, "Bn T S"]:
        query, v = self.query(query), self.v.weight.squeeze(0)
        if self.coverage is None or coverage is None:
            return additive_scores(query, keys, v)
        # What a query has covered changes its keys: it becomes a sentence of its own.
        covered = keys.flatten(0, -3).unsqueeze(1) + coverage.unsqueeze(3) * self.coverage.weight.squeeze(1)
        return additive_scores(query.flatten(0, 1).unsqueeze(1), covered.flatten(0, 1), v).view(coverage.shape)


class LinearScore(Score):
    """w_aᵀ [h; v_s], the "simplified concat" of tutorials: `concat` without its tanh.

    It is the sum of a term in h and a term in v_s, and a softmax ignores what is the same at every position: the
    weights do not depend on the query, and no gradient reaches its half of w_a. The context is one and the same at
    every step, unless coverage or a local scope change it.
    """

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__()
        self.query = Linear(query_size, 1, bias=False)
        self.memory = Linear(memory_size, 1, bias=False)
        self.coverage = Linear(1, 1, bias=False) if coverage else None

    def forward(
        self,
        query: Float[Tensor, "Bn T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "Bn T S"] | None = None,
    ) -> Float[Tensor, "Bn T S"]:
        scores = self.query(query) + keys.flatten(0, -3).transpose(1, 2)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage.weight * coverage
        return scores


class ProductScore(Score):
    """hᵀ k_s, and with `scaled` hᵀ k_s / √H (Vaswani et al. 2017, section 3.2.1); A = H.

    The kinds differ in the key k_s alone. With coverage it is k_s + u C_s, with u a vector of H parameters.
    """

    def __init__(self, query_size: int, *, scaled: bool = False, coverage: bool = False) -> None:
        super().__init__()
        self.divisor = query_size**0.5 if scaled else 1.0
        self.coverage = Linear(query_size, 1, bias=False) if coverage else None

    def forward(
        self,
        query: Float[Tensor, "Bn T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "Bn T S"] | None = None,
    ) -> Float[Tensor, "Bn T S"]:
        if self.divisor != 1:
            query = query / self.divisor
        scores = inner_products(query, keys)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage(query) * coverage
        return scores


class DotScore(ProductScore):
    """hᵀ v_s: Luong et al. 2015, section 3.1. Needs H = M."""

    def __init__(self, query_size: int, *, scaled: bool = False, coverage: bool = False) -> None:
        super().__init__(query_size, scaled=scaled, coverage=coverage)
        self.memory = nn.Identity()


class GeneralScore(ProductScore):
    """hᵀ W_a v_s: Luong et al. 2015, section 3.1."""

    def __init__(self, query_size: int, memory_size: int, *, scaled: bool = False, coverage: bool = False) -> None:
        super().__init__(query_size, scaled=scaled, coverage=coverage)
        self.memory = Linear(memory_size, query_size, bias=False)


class LocationScore(ProductScore):
    """(W_a h)_s: Luong et al. 2015, equation 8. The key of a position is its row of W_a, whatever stands there.

    W_a has a fixed number of rows; positions past them have no score, and get weight 0.
    """

    def __init__(self, query_size: int, positions: int) -> None:
        super().__init__(query_size)
        self.positions = positions
        self.location = Linear(query_size, positions, bias=False)

    def keys(self, values: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        *batch, length, _ = values.shape
        rows = self.location.weight[:length]
        return F.pad(rows, (0, 0, 0, length - len(rows))).expand(*batch, -1, -1).contiguous()


def make_score(
    name: ScoreName, *, query_size: int, memory_size: int, size: int, positions: int, coverage: bool
) -> Score:
    """Choose a score. `size` is A of the additive one, `positions` the number of those that `location` knows."""
    match name:
        case "additive" | "concat":
            return AdditiveScore(query_size, memory_size, size, coverage=coverage)
        case "linear":
            return LinearScore(query_size, memory_size, coverage=coverage)
        case "dot" | "scaled_dot":
            return DotScore(query_size, scaled=name == "scaled_dot", coverage=coverage)
        case "general" | "scaled_general":
            return GeneralScore(query_size, memory_size, scaled=name == "scaled_general", coverage=coverage)
        case "location":
            return LocationScore(query_size, positions)
