"""What all scopes share: the window of positions that a query sees.

Shapes: B sentences, T queries of each, S source positions, H query, W places of a window. *B are any leading
dimensions, those of the queries; where it is *#B, a dimension of 1 stands for all, such as attention heads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.registry import Part


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
    initialises its own parameters. One that `has_segments` is made by `Scope(query_size, score=…, ends=…)`: a score of
    whole segments, and the ids of the tokens that end one.
    """

    formula: ClassVar[str]  # as the documents show it
    paper: ClassVar[str]
    cost: ClassVar[str]  # positions that a decoder step scores, and what else it multiplies
    advice: ClassVar[str]  # when to choose it
    has_segments: ClassVar[bool] = False  # whether it divides the source

    ends: tuple[int, ...] = ()  # the ids that end its segments

    def __init__(self, query_size: int) -> None:
        super().__init__()

    def prepare(
        self,
        source: Int[Tensor, "B S"],
        mask: Bool[Tensor, "B S"],
        scored: Float[Tensor, "*B S M"],
        done: int | None = None,
    ) -> tuple[Tensor, ...]:
        """What else the scope needs, computed once per sentence: of its ids, of the vectors that are scored, and, in
        training, of the number of updates done."""
        return ()

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        t: Int[Tensor, "*#B T"],
        mask: Bool[Tensor, "*#B S"],
        lengths: Int[Tensor, "*#B"],
        together: int = 1,
        prepared: tuple[Tensor, ...] = (),
    ) -> Window:
        """The window of the queries, which are those of target positions t; `mask` is False at padding.

        `together` is the number of queries that one pass over the source can answer, `prepared` what `prepare` gave.
        """

    def weights(
        self,
        scores: Float[Tensor, "*B T W"],
        window: Window,
        query: Float[Tensor, "*B T H"],
        prepared: tuple[Tensor, ...],
    ) -> Float[Tensor, "*B T W"]:
        """The attention weights: the softmax over the window, times its fade."""
        if window.fade is None:
            return scores.masked_fill(~window.inside, -torch.inf).softmax(dim=-1)
        return softmax_inside(scores, window.inside, window.fade)


def softmax_inside(
    scores: Float[Tensor, "... W"], inside: Bool[Tensor, "... W"], factor: Float[Tensor, "... W"] | None = None
) -> Float[Tensor, "... W"]:
    """The softmax over the places inside, 0 at the others and everywhere if none is inside; times a factor, if any."""
    # Not −∞, because there may be nothing inside: its weights are 0 then, not the quotient of 0 by 0.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~inside, lowest).softmax(dim=-1) * (inside if factor is None else factor)
