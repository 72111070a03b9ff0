"""Which source positions a query sees, and how its weights fade with the distance: global and local attention.

Shapes: B batch, T queries per sentence, S source positions, H query, W places of a window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels.linear import Linear

ScopeName = Literal["global", "local_m", "local_p"]


class Window(NamedTuple):
    """What T queries see. Without `positions`, the places are the source's own positions, W = S."""

    inside: Bool[Tensor, "*#BT W"]  # False: weight 0
    positions: Int[Tensor, "B T W"] | None = None  # the source position of each place
    fade: Float[Tensor, "B T W"] | None = None  # what the softmax over the places inside is multiplied by


class Scope(nn.Module, ABC):
    """Which positions take part in the softmax."""

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "B T H"],
        t: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"],
        lengths: Int[Tensor, " B"],
        together: int = 1,
    ) -> Window:
        """The window of the queries, which are those of target positions t; `mask` is False at padding.

        `together` is the number of queries that one pass over the source can answer.
        """


class GlobalScope(Scope):
    """All of the sentence's positions."""

    def forward(
        self,
        query: Float[Tensor, "B T H"],
        t: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"],
        lengths: Int[Tensor, " B"],
        together: int = 1,
    ) -> Window:
        return Window(mask.unsqueeze(1))


class LocalScope(Scope):
    """Softmax over the integers of [p_t − D, p_t + D] ∩ [0, S − 1]: Luong et al. 2015, section 3.2.

    Only W = 2D + 1 positions of a longer source are looked at, so that a step costs O(D), not O(S) (but for coverage,
    which is kept for all S); all of them only where that is less work, because so many queries are answered together
    that they would look at more than S.
    """

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    @abstractmethod
    def centre(
        self, query: Float[Tensor, "B T H"], t: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T"]:
        """p_t, in source positions of the sentence's own length."""

    def fade(self, distance: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """What weights at this distance from the centre are multiplied by."""
        return torch.ones_like(distance)

    def forward(
        self,
        query: Float[Tensor, "B T H"],
        t: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"],
        lengths: Int[Tensor, " B"],
        together: int = 1,
    ) -> Window:
        length, width = mask.shape[1], 2 * self.window + 1
        centre = self.centre(query, t, lengths).unsqueeze(2)
        if length <= width * together:
            distance, positions = torch.arange(length, device=query.device) - centre, None
            real = mask.unsqueeze(1)
        else:
            # The window's first integer, moved inwards at the ends so that all of its places exist in memory.
            first = (centre.detach() - self.window).ceil().long().clamp(0, length - width)
            positions = first + torch.arange(width, device=query.device)
            distance = positions - centre
            real = mask.unsqueeze(1).expand(-1, t.shape[1], -1).gather(2, positions)
        inside = (distance.abs() <= self.window) & real
        # With the mask once more, because a location score may know none of the places: all weights are then 0.
        return Window(inside, positions, self.fade(distance) * inside)


class LocalMonotonicScope(LocalScope):
    """local-m: p_t = min(t, S − 1), as if source and target ran side by side."""

    def centre(
        self, query: Float[Tensor, "B T H"], t: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T"]:
        return torch.minimum(t, lengths.unsqueeze(1) - 1).float()  # exact, whatever the query's precision


class LocalPredictiveScope(LocalScope):
    """local-p: p_t = S · sigmoid(v_pᵀ tanh(W_p h)), a real number (equation 9).

    The softmax is multiplied by exp(−(s − p_t)² / 2σ²) with σ = D/2 (equation 10), and not normalised again.
    """

    def __init__(self, query_size: int, window: int) -> None:
        super().__init__(window)
        self.hidden = Linear(query_size, query_size, bias=False)
        self.v = Linear(query_size, 1, bias=False)

    def centre(
        self, query: Float[Tensor, "B T H"], t: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T"]:
        logit = self.v(torch.tanh(self.hidden(query))).squeeze(2)
        # Of bfloat16 products in float32: bfloat16 has no room for positions.
        return lengths.unsqueeze(1) * torch.sigmoid(logit.to(torch.promote_types(logit.dtype, torch.float32)))

    def fade(self, distance: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        return torch.exp(-2 * (distance / self.window) ** 2)  # 2σ² = D²/2


def make_scope(name: ScopeName, *, query_size: int, window: int) -> Scope:
    """Choose a scope; `window` is D of the local ones, in positions to each side."""
    match name:
        case "global":
            return GlobalScope()
        case "local_m":
            return LocalMonotonicScope(window)
        case "local_p":
            return LocalPredictiveScope(query_size, window)
