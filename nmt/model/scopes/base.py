"""What all scopes share: the window of positions that a query sees.

Shapes: B sentences, T queries of each, S source positions, H query, W places of a window. *B are any leading
dimensions, those of the queries; where it is *#B, a dimension of 1 stands for all, such as attention heads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.parts import Part


class Window(NamedTuple):
    """What T queries see. Without `positions`, the places are the source's own positions, W = S.

    A dimension of 1 stands for all heads or queries.
    """

    inside: Bool[Tensor, "*BT W"]  # False: weight 0
    positions: Int[Tensor, "*B T W"] | None = None  # the source position of each place
    fade: Float[Tensor, "*B T W"] | None = None  # what the softmax over the places inside is multiplied by


class Scope(nn.Module, Part, ABC):
    """Which positions take part in the softmax.

    Its class is made by `Scope(query_size, **options)`: H of one attention head, and the fields of its `Options`. It
    initialises its own parameters.
    """

    formula: ClassVar[str]  # as the documents show it
    paper: ClassVar[str]
    cost: ClassVar[str]  # positions that a decoder step scores, and what else it multiplies
    advice: ClassVar[str]  # when to choose it

    def __init__(self, query_size: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        t: Int[Tensor, "*#B T"],
        mask: Bool[Tensor, "*#B S"],
        lengths: Int[Tensor, "*#B"],
        together: int = 1,
    ) -> Window:
        """The window of the queries, which are those of target positions t; `mask` is False at padding.

        `together` is the number of queries that one pass over the source can answer.
        """
