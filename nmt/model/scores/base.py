"""What all scores share.

A score has two halves. `keys` is what it needs of the memory, computed once per sentence; `forward` compares queries
with keys, at every step. With coverage (Tu et al. 2016, section 3, without fertilities) a score has one more feature of
each position, C_s, the sum of the attention weights that it got so far: v_s becomes [v_s; C_s] in each of the formulas.

Shapes: B sentences, T queries of each, S source positions, H query, M memory vector, A alignment. *B are any leading
dimensions, as in `torch.matmul`: with attention heads there is one for these too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels import Linear
from nmt.registry import Part, Section


class ScoreOptions(Section):
    """The config fields that a score reads. They are the keyword arguments of its class."""

    def arguments(self, heads: int) -> dict[str, object]:
        """The keyword arguments of one of `heads` attention heads."""
        return self.model_dump()


class Score(nn.Module, Part, ABC):
    """Scores of queries against source positions, before any normalisation.

    Its class is made by `Score(query_size, memory_size, coverage=…, **options)`: H and M of one attention head, whether
    to use coverage, and the fields of its `Options`. It initialises its own parameters.
    """

    Options: ClassVar[type[Section]] = ScoreOptions
    formula: ClassVar[str]  # as the documents show it
    paper: ClassVar[str]
    cost: ClassVar[str]  # multiplications per decoder step, for one sentence
    advice: ClassVar[str]  # when to choose it
    same_as: ClassVar[str | None] = None  # the score that this one only renames
    equal_sizes_or: ClassVar[str | None] = None  # a score that needs H = M: the one to use where they differ
    reads_memory: ClassVar[bool] = True  # False: it has no keys, and no use for heads, key_value and coverage
    batched: ClassVar[bool] = True  # whether one matrix product answers all queries of a sentence

    positions: int | None = None  # how many of them it can score; None: any number
    memory: nn.Module  # makes the keys
    coverage: Linear | None  # the weights of coverage, in a score that has it

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False) -> None:
        super().__init__()
        self.coverage = None

    def keys(self, values: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        """What is scored at each position."""
        return self.memory(values)

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "*B T S"] | None = None,
    ) -> Float[Tensor, "*B T S"]:
        """The scores; `coverage` is None if and only if the score was made without it."""
