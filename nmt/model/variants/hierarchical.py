"""Two levels of attention: words within each segment of the source, and the segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.model.scopes import Lengths, Mask, Scope, Steps, Weights, Window
from nmt.model.scores import Queries, Score
from nmt.model.special_tokens import EOS


@dataclass(frozen=True)
class HierarchicalOptions:
    """The options of `hierarchical`."""

    segment_ends: tuple[str, ...] = (".", "!", "?")
    """The source tokens that end a segment, without sentencepiece's "▁"."""


class HierarchicalScope(Scope):
    """α_s = γ_g β_s, for words within segments g (Yang et al. 2016; Libovický and Helcl 2017, eq. 9 to 11).

    β_{t,s} = softmax of score(h, v_s) over the words of s's segment;  u_{t,g} = Σ_{s ∈ g} β_{t,s} v_s;
    γ_{t,g} = softmax of another score of the same kind, score'(h, u_{t,g}), over the segments;
    α_{t,s} = γ_{t,g(s)} β_{t,s}. With one segment it is `global`.
    """

    name = "hierarchical"
    Options = HierarchicalOptions
    has_segments = True

    def __init__(self, query_size: int, *, score: Score, ends: Sequence[int]) -> None:
        super().__init__(query_size)
        self.score = score
        self.ends = tuple(ends)

    def prepare(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], scored: Float[Tensor, "*B S M"]
    ) -> tuple[Tensor, ...]:
        """Which positions are each segment's, (*#B G S), and the vectors that are scored."""
        of_position = segments(source, self.ends)
        indices = torch.arange(of_position.max() + 1, device=source.device)  # type: ignore[call-overload]  # a tensor
        members = (of_position.unsqueeze(1) == indices.unsqueeze(1)) & mask.unsqueeze(1)
        return members.view(members.shape[0], *[1] * (scored.dim() - 3), *members.shape[1:]), scored

    def forward(self, query: Queries, t: Steps, mask: Mask, lengths: Lengths, queries_per_pass: int = 1) -> Window:
        return Window(mask.unsqueeze(-2))

    def weights(self, scores: Weights, window: Window, query: Queries, prepared: tuple[Tensor, ...]) -> Weights:
        members, scored = prepared
        within = self.normalizer(scores.unsqueeze(-2), members.unsqueeze(-3))  # β, (*B T G S)
        summaries = (within.flatten(-3, -2) @ scored).view(*within.shape[:-1], -1)  # u, (*B T G M)
        # Each query has its own segment summaries, so it is scored alone: (*B T 1 H).
        segment_scores = self.score(query.unsqueeze(-2), self.score.keys(summaries)).squeeze(-2)
        inside = members.any(dim=-1)
        if self.score.positions is not None:
            inside = inside & (torch.arange(inside.shape[-1], device=inside.device) < self.score.positions)
        between = self.normalizer(segment_scores, inside.unsqueeze(-2))  # γ, (*B T G)
        return (between.unsqueeze(-2) @ within).squeeze(-2)


def segments(source: Int[Tensor, "B S"], ends: Sequence[int]) -> Int[Tensor, "B S"]:
    """The number of each position's segment, from 0.

    A segment begins behind a token that ends one, if another word follows: several ends in a row belong together, and
    the end of the source to the last segment.
    """
    ended = (source.unsqueeze(-1) == torch.tensor(ends, dtype=source.dtype, device=source.device)).any(dim=-1)
    begins = torch.zeros_like(ended)
    begins[:, 1:] = ended[:, :-1] & ~ended[:, 1:] & (source[:, 1:] != EOS)
    return begins.cumsum(dim=1, dtype=torch.long)
