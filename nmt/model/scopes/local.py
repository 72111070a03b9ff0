"""What local scopes share: a window of positions around a centre."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.model.scopes.base import Scope, Window
from nmt.registry import Count, Section, Updates


class LocalOptions(Section):
    """The options of local scopes."""

    window: Count = 10
    """D: how many source positions a query sees on each side of the centre."""
    narrow_from: Count = 60
    """D before the first update of training, if that is more than `window`. From there it narrows to `window`, by the
    same factor in each update. Validation and translation always use `window`."""
    narrow_updates: Updates = 800
    """The number of updates until D is `window`. 0: it is `window` from the beginning, as in the paper."""


class LocalScope(Scope, ABC):
    """Softmax over the integers of [p_t − D, p_t + D] ∩ [0, S − 1] (Luong et al. 2015, section 3.2).

    Only W = 2D + 1 positions of a longer source are looked at, so that a step costs O(D), not O(S) (except for
    coverage, which is kept for all S); all of them only where that is less work, because so many queries are answered
    together that they would look at more than S.
    """

    Options: ClassVar[type[Section]] = LocalOptions

    def __init__(self, query_size: int, *, window: int, narrow_from: int = 1, narrow_updates: int = 0) -> None:
        super().__init__(query_size)
        self.window = window
        self.narrow_from = narrow_from
        self.narrow_updates = narrow_updates

    def window_after(self, done: int) -> int:
        """D after some updates of training: D₀ (D/D₀)^(i/n), rounded, until i = n."""
        if self.narrow_from <= self.window or done >= self.narrow_updates:
            return self.window
        return round(self.narrow_from * (self.window / self.narrow_from) ** (done / self.narrow_updates))

    def prepare(
        self,
        source: Int[Tensor, "B S"],
        mask: Bool[Tensor, "B S"],
        scored: Float[Tensor, "*B S M"],
        done: int | None = None,
    ) -> tuple[Tensor, ...]:
        """The window's D while it narrows."""
        if done is None or self.window_after(done) == self.window:
            return ()
        return (torch.tensor([self.window_after(done)]),)  # on the processor, which decides what is gathered

    @abstractmethod
    def centre(
        self, query: Float[Tensor, "*B T H"], t: Int[Tensor, "*#B T"], lengths: Int[Tensor, "*#B"]
    ) -> Float[Tensor, "*#B T"]:
        """p_t, in source positions of the sentence's own length."""

    def fade(self, distance: Float[Tensor, "*B T W"], window: int) -> Float[Tensor, "*B T W"]:
        """What weights at this distance from the centre are multiplied by."""
        return torch.ones_like(distance)

    def forward(
        self,
        query: Float[Tensor, "*B T H"],
        t: Int[Tensor, "*#B T"],
        mask: Bool[Tensor, "*#B S"],
        lengths: Int[Tensor, "*#B"],
        together: int = 1,
        prepared: tuple[Tensor, ...] = (),
    ) -> Window:
        window = int(prepared[0]) if prepared else self.window
        length, width = mask.shape[-1], 2 * window + 1
        centre = self.centre(query, t, lengths).unsqueeze(-1)
        if length <= width * together:
            distance, positions = torch.arange(length, device=query.device) - centre, None
            real = mask.unsqueeze(-2)
        else:
            # The window's first integer, moved inwards at the ends so that all of its places exist in memory.
            first = (centre.detach() - window).ceil().long().clamp(0, length - width)
            positions = first + torch.arange(width, device=query.device)
            distance = positions - centre
            real = mask.unsqueeze(-2).expand(*positions.shape[:-1], -1).gather(-1, positions)
        inside = (distance.abs() <= window) & real
        # With the mask once more, because a location score may know none of the places: all weights are then 0.
        return Window(inside, positions, self.fade(distance, window) * inside)
