"""The scores of the papers: how well a query h matches a memory vector v_s, before any normalisation.

A score has two halves. `keys` is its share of the memory vectors, computed once per sentence; `forward` compares
queries with keys, at every step. With coverage (Tu et al. 2016, section 3, without fertilities) a score has one more
feature of each position, C_s, the sum of its attention weights so far: v_s becomes [v_s; C_s] in each of the formulas.

Shapes: B sentences, T queries of each, S source positions, H query, M memory vector, A alignment. *B are any leading
dimensions, as in `torch.matmul`: with attention heads there is one for these, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.layers import Linear
from nmt.model.options import Count, NoOptions

Queries: TypeAlias = Float[Tensor, "*B T H"]
Keys: TypeAlias = Float[Tensor, "*B S A"]
Scores: TypeAlias = Float[Tensor, "*B T S"]


class Score(nn.Module, ABC):
    """Scores of queries against source positions.

    The class docstring begins with the formula and, in parentheses, its paper: the documents show both.
    It is called as `Score(query_size, memory_size, coverage=…, **options)`: H and M of one attention head,
    whether to use coverage, and the fields of its `Options`. It initializes its own parameters.
    """

    Options: ClassVar[type[Any]] = NoOptions
    name: ClassVar[str]  # in configs
    same_as: ClassVar[str | None] = None  # the score that this one only renames
    equal_sizes_or: ClassVar[str | None] = None  # a score that needs H = M: the one to use where they differ
    reads_memory: ClassVar[bool] = True  # False: it has no keys, and no use for heads, key_value and coverage
    one_product: ClassVar[bool] = True  # whether one matrix product scores all queries of a sentence

    positions: int | None = None  # how many it can score; None: any number
    memory: nn.Module  # makes the keys
    coverage: Linear | None  # the weights of coverage, in a score that has it

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__()
        self.coverage = None

    @classmethod
    def options_of_a_head(cls, options: Mapping[str, Any], heads: int) -> Mapping[str, Any]:
        """The options with which the score of one of `heads` attention heads is made."""
        return options

    def keys(self, values: Float[Tensor, "*B S M"]) -> Keys:
        """What queries are compared with at each position."""
        return self.memory(values)

    @abstractmethod
    def forward(self, query: Queries, keys: Keys, coverage: Scores | None = None) -> Scores:
        """The scores; `coverage` is None if and only if the score was made without it."""


@dataclass(frozen=True)
class AdditiveOptions:
    """The options of `additive` and `concat`."""

    size: Count | None = None
    """The size A of the hidden layer, of all heads together. By default the decoder's hidden size."""


class AdditiveScore(Score):
    """v_aᵀ tanh(W_a h + U_a v_s) (Bahdanau et al. 2015, A.1.2); with coverage + V_a C_s inside the tanh."""

    name = "additive"
    Options = AdditiveOptions
    one_product = False

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False, size: int | None = None) -> None:
        super().__init__(query_size, memory_size)
        size = size or query_size
        self.query = Linear(query_size, size, bias=False)
        self.memory = Linear(memory_size, size, bias=False)
        self.v = Linear(size, 1, bias=False)
        self.coverage = Linear(1, size, bias=False) if coverage else None

    @classmethod
    def options_of_a_head(cls, options: Mapping[str, Any], heads: int) -> Mapping[str, Any]:
        return {name: size and size // heads for name, size in options.items()}

    def forward(self, query: Queries, keys: Keys, coverage: Scores | None = None) -> Scores:
        query = self.query(query)
        if self.coverage is None or coverage is None:
            return self.compare(query, keys)
        # What a query has covered changes its keys, so each query has its own, (*B T S A).
        keys = keys.unsqueeze(-3) + coverage.unsqueeze(-1) * self.coverage.weight.squeeze(1)
        return self.compare(query.unsqueeze(-2), keys).squeeze(-2)

    def compare(self, query: Float[Tensor, "*B T A"], keys: Keys) -> Scores:
        """v_aᵀ tanh(q + k) of each query with each key of its sentence."""
        return self.v(torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3))).squeeze(-1)


class ConcatScore(AdditiveScore):
    """v_aᵀ tanh(W_a [h; v_s]) (Luong et al. 2015, section 3.1).

    It is `additive` with W_a split in two, W_a [h; v_s] = W h + U v_s: the same function under another name.
    """

    name = "concat"
    same_as = "additive"


class ProductScore(Score, ABC):
    """hᵀ k_s, or `scaled` hᵀ k_s / √H (Vaswani et al. 2017, section 3.2.1); A = H.

    The kinds differ in the key k_s alone. With coverage it is k_s + u C_s, with u a vector of H parameters.
    """

    scaled: ClassVar[bool] = False

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__(query_size, memory_size)
        self.divisor = query_size**0.5 if self.scaled else 1.0
        self.coverage = Linear(query_size, 1, bias=False) if coverage else None
        self.memory = self.make_keys(query_size, memory_size)

    @abstractmethod
    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        """The module that makes the keys."""

    def forward(self, query: Queries, keys: Keys, coverage: Scores | None = None) -> Scores:
        if self.divisor != 1:
            query = query / self.divisor
        scores = self.products(query, keys)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage(query) * coverage
        return scores

    def products(self, query: Float[Tensor, "*B T A"], keys: Keys) -> Scores:
        """qᵀ k of each query with each key of its sentence."""
        return query @ keys.transpose(-2, -1)


class DotScore(ProductScore):
    """hᵀ v_s (Luong et al. 2015, section 3.1). Needs H = M."""

    name = "dot"
    equal_sizes_or = "general"

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return nn.Identity()


class GeneralScore(ProductScore):
    """hᵀ W_a v_s (Luong et al. 2015, section 3.1)."""

    name = "general"

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return Linear(memory_size, query_size, bias=False)


class ScaledDotScore(DotScore):
    """hᵀ v_s / √H (Vaswani et al. 2017, section 3.2.1). Needs H = M."""

    name = "scaled_dot"
    equal_sizes_or = "scaled_general"
    scaled = True


class ScaledGeneralScore(GeneralScore):
    """hᵀ W_a v_s / √H (Vaswani et al. 2017, section 3.2.1, applied to `general`)."""

    name = "scaled_general"
    scaled = True


class LinearScore(Score):
    """w_aᵀ [h; v_s] (the "simplified concat" of some tutorials). It is `concat` without its tanh.

    It is the sum of a term in h and a term in v_s, and a softmax ignores what is the same at every position: the
    weights do not depend on the query, no gradient reaches its half of w_a, and the context is one and the same at
    every step, unless coverage or a local scope change it.
    """

    name = "linear"

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__(query_size, memory_size)
        self.query = Linear(query_size, 1, bias=False)
        self.memory = Linear(memory_size, 1, bias=False)
        self.coverage = Linear(1, 1, bias=False) if coverage else None

    def forward(self, query: Queries, keys: Keys, coverage: Scores | None = None) -> Scores:
        scores = self.query(query) + keys.transpose(-2, -1)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage.weight * coverage
        return scores


@dataclass(frozen=True)
class LocationOptions:
    """The options of `location`."""

    positions: Count = 101
    """The number of source positions with a score; later ones get weight 0. Raise it with `data.max_length`."""


class LocationScore(ProductScore):
    """(W_a h)_s (Luong et al. 2015, equation 8). The key of a position is its row of W_a, whatever the word there.

    W_a has a fixed number of rows; positions past them have no score, and get weight 0.
    """

    name = "location"
    Options = LocationOptions
    reads_memory = False

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False, positions: int = 101) -> None:
        super().__init__(query_size, memory_size)
        self.positions = positions
        self.location = Linear(query_size, positions, bias=False)

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return nn.Identity()  # not used: a position's key is its row of W_a

    def keys(self, values: Float[Tensor, "*B S M"]) -> Keys:
        *batch, length, _ = values.shape
        rows = self.location.weight[:length]
        return F.pad(rows, (0, 0, 0, length - rows.shape[0])).expand(*batch, -1, -1)
