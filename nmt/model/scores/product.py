"""Scores that are inner products of the query with a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels import Linear, inner_products
from nmt.model.scores.base import Score


class ProductScore(Score, ABC):
    """hᵀ k_s, or `scaled` hᵀ k_s / √H (Vaswani et al. 2017, section 3.2.1); A = H.

    The kinds differ in the key k_s alone. With coverage it is k_s + u C_s, with u a vector of H parameters.
    """

    scaled: ClassVar[bool] = False
    cost = "S (H + M)"

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__(query_size, memory_size)
        self.divisor = query_size**0.5 if self.scaled else 1.0
        self.coverage = Linear(query_size, 1, bias=False) if coverage else None
        self.memory = self.make_keys(query_size, memory_size)

    @abstractmethod
    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        """The module that makes the keys."""

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "*B T S"] | None = None,
    ) -> Float[Tensor, "*B T S"]:
        if self.divisor != 1:
            query = query / self.divisor
        scores = inner_products(query, keys)
        if self.coverage is not None and coverage is not None:
            scores = scores + self.coverage(query) * coverage
        return scores
