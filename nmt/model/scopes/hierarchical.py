"""Two levels of attention: words within each segment of the source, and the segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from nmt.kernels import reused, weighted_sums
from nmt.model.scopes.base import Scope, Window, softmax_inside
from nmt.model.scores import Score
from nmt.registry import Section
from nmt.text.vocabulary import EOS


class HierarchicalOptions(Section):
    """The options of `hierarchical`."""

    segment_ends: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)] = (".", "!", "?")
    """The source tokens that end a segment, which is a sentence of the source. Sentencepiece's mark "▁" does not
    count."""


class HierarchicalScope(Scope):
    """The source's segments g, and the words within each (Yang et al. 2016; Libovický and Helcl 2017, eq. 9 to 11).

    β_{t,s} = softmax of score(h, v_s) over the words of s's segment;  u_{t,g} = Σ_{s ∈ g} β_{t,s} v_s;
    γ_{t,g} = softmax of another score of the same kind, score'(h, u_{t,g}), over the segments;
    α_{t,s} = γ_{t,g(s)} β_{t,s}. With one segment it is `global`.
    """

    formula = "α_s = γ_g β_s: β = softmax of score(h, v_s) in s's segment g, γ = softmax of score'(h, Σ_{s∈g} β_s v_s)"
    paper = "Yang et al. 2016; Libovický and Helcl 2017, eq. 9–11"
    cost = "the score's for S positions and for G segments, G·M·A for their keys, and G·S·M"
    advice = "for sources of several sentences; to see which sentence is read"
    Options: ClassVar[type[Section]] = HierarchicalOptions
    has_segments = True

    def __init__(self, query_size: int, *, score: Score, ends: Sequence[int]) -> None:
        super().__init__(query_size)
        self.score = score
        self.ends = tuple(ends)

    def prepare(
        self,
        source: Int[Tensor, "B S"],
        mask: Bool[Tensor, "B S"],
        scored: Float[Tensor, "*B S M"],
        done: int | None = None,
    ) -> tuple[Tensor, ...]:
        """Which positions are each segment's, (*#B G S), and the vectors that are scored."""
        numbers = segments(source, self.ends)
        each = torch.arange(numbers.max() + 1, device=source.device)  # type: ignore[call-overload]  # takes a tensor
        members = numbers.unsqueeze(1) == each.unsqueeze(1)
        members = members & mask.unsqueeze(1)
        return members.view(members.shape[0], *[1] * (scored.dim() - 3), *members.shape[1:]), reused(scored)

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

    def weights(
        self,
        scores: Float[Tensor, "*B T S"],
        window: Window,
        query: Float[Tensor, "*B T H"],
        prepared: tuple[Tensor, ...],
    ) -> Float[Tensor, "*B T S"]:
        members, scored = prepared
        within = softmax_inside(scores.unsqueeze(-2), members.unsqueeze(-3))  # β, (*B T G S)
        summaries = weighted_sums(within.flatten(-3, -2), scored).view(*within.shape[:-1], -1)  # u, (*B T G M)
        # Each query has segments of its own making, and is alone with them: (*B T 1 H).
        importance = self.score(query.unsqueeze(-2), self.score.keys(summaries)).squeeze(-2)
        among = members.any(dim=-1)
        if self.score.positions is not None:
            among = among & (torch.arange(among.shape[-1], device=among.device) < self.score.positions)
        segment = softmax_inside(importance, among.unsqueeze(-2))  # γ, (*B T G)
        return (segment.unsqueeze(-2) @ within).squeeze(-2)


def segments(source: Int[Tensor, "B S"], ends: Sequence[int]) -> Int[Tensor, "B S"]:
    """The number of each position's segment, from 0.

    A segment begins behind a token that ends one, if another word follows: several ends in a row belong together, and
    the end of the source to the last segment.
    """
    ended = (source.unsqueeze(-1) == torch.tensor(ends, dtype=source.dtype, device=source.device)).any(dim=-1)
    begins = torch.zeros_like(ended)
    begins[:, 1:] = ended[:, :-1] & ~ended[:, 1:] & (source[:, 1:] != EOS)
    return begins.cumsum(dim=1, dtype=torch.long)
