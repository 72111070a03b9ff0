"""The scopes of the papers: which source positions a query attends to.

Shapes: B sentences, T queries of each, S source positions, H query, W positions of a window. *B are any leading
dimensions, those of the queries; where it is *#B, a dimension of 1 is for all, such as attention heads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.layers import Linear
from nmt.model.normalizers import Normalizer, Softmax
from nmt.model.options import Count, NoOptions, StepCount
from nmt.model.scores import Queries

Weights: TypeAlias = Float[Tensor, "*B T W"]
Steps: TypeAlias = Int[Tensor, "*#B T"]
Mask: TypeAlias = Bool[Tensor, "*#B S"]
Lengths: TypeAlias = Int[Tensor, "*#B"]


class Window(NamedTuple):
    """What T queries attend to: without `positions`, all (W = S). A dimension of 1 is for all heads or queries."""

    inside: Bool[Tensor, "*BT W"]  # False: weight 0
    positions: Int[Tensor, "*B T W"] | None = None  # the source positions in the window
    gaussian: Float[Tensor, "*B T W"] | None = None  # what the weights in the window are multiplied by


class Scope(nn.Module, ABC):
    """Which positions have a weight.

    The class docstring begins with the formula and, in parentheses, its paper: the documents show both.
    It is called as `Scope(query_size, **options)`: H of one attention head, and the fields of its `Options`. It
    initializes its own parameters. Its `normalizer` is the softmax until another is set. One that `has_segments` is
    called as `Scope(query_size, score=…, ends=…)`: a score of whole segments, and the ids of the tokens that end one.
    """

    Options: ClassVar[type[Any]] = NoOptions
    name: ClassVar[str]  # in configs
    has_segments: ClassVar[bool] = False  # whether it divides the source

    ends: tuple[int, ...] = ()  # the ids that end its segments

    def __init__(self, query_size: int) -> None:
        super().__init__()
        self.normalizer: Normalizer = Softmax()

    def prepare(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], scored: Float[Tensor, "*B S M"]
    ) -> tuple[Tensor, ...]:
        """What else the scope needs of the ids and of the vectors that are scored, computed once per sentence."""
        return ()

    @abstractmethod
    def forward(self, query: Queries, t: Steps, mask: Mask, lengths: Lengths, queries_per_pass: int = 1) -> Window:
        """The window of the queries, which are those of target positions t; `mask` is False at padding.

        `queries_per_pass` is the number of queries that one pass over the source can score.
        """

    def weights(self, scores: Weights, window: Window, query: Queries, prepared: tuple[Tensor, ...]) -> Weights:
        """The attention weights: normalized over the window, times its Gaussian; `prepared` is from `prepare`."""
        weights = self.normalizer(scores, window.inside)
        return weights if window.gaussian is None else weights * window.gaussian


class GlobalScope(Scope):
    """softmax over all S (Bahdanau et al. 2015; Luong et al. 2015, section 3.1)."""

    name = "global"

    def forward(self, query: Queries, t: Steps, mask: Mask, lengths: Lengths, queries_per_pass: int = 1) -> Window:
        return Window(mask.unsqueeze(-2))


@dataclass(frozen=True)
class LocalOptions:
    """The options of local scopes."""

    window: Count = 10
    """D: the number of source positions on each side of the centre."""
    narrow_from: Count = 60
    """D before training, which narrows it to `window` by a constant factor. Validation and search use `window`."""
    narrow_updates: StepCount = 800
    """The number of updates until D is `window`. 0: it is `window` from the start, as in the paper."""


class LocalScope(Scope, ABC):
    """Softmax over the integers of [p_t − D, p_t + D] ∩ [0, S − 1] (Luong et al. 2015, section 3.2).

    Only W = 2D + 1 positions of a longer source are scored, so that a step costs O(D), not O(S) (except for coverage,
    which is kept for all S); all of them only where that is less work, because one pass scores so many queries.
    The training loop sets `global_step`, the number of updates done, which decides D in training alone.
    """

    Options: ClassVar[type[Any]] = LocalOptions

    def __init__(self, query_size: int, *, window: int, narrow_from: int = 1, narrow_updates: int = 0) -> None:
        super().__init__(query_size)
        self.window = window
        self.narrow_from = narrow_from
        self.narrow_updates = narrow_updates
        self.global_step = narrow_updates

    def current_window(self) -> int:
        """D; in training D₀ (D/D₀)^(i/n) after i updates, rounded, until i = n."""
        if not self.training or self.narrow_from <= self.window or self.global_step >= self.narrow_updates:
            return self.window
        return round(self.narrow_from * (self.window / self.narrow_from) ** (self.global_step / self.narrow_updates))

    @abstractmethod
    def centre(self, query: Queries, t: Steps, lengths: Lengths) -> Float[Tensor, "*#B T"]:
        """p_t, in source positions of the sentence's own length."""

    def gaussian(self, distance: Weights, window: int) -> Weights | None:
        """What weights at this distance from the centre are multiplied by."""
        return None

    def forward(self, query: Queries, t: Steps, mask: Mask, lengths: Lengths, queries_per_pass: int = 1) -> Window:
        window = self.current_window()
        length, width = mask.shape[-1], 2 * window + 1
        centre = self.centre(query, t, lengths).unsqueeze(-1)
        if length <= width * queries_per_pass:
            distance, positions = torch.arange(length, device=query.device) - centre, None
            real = mask.unsqueeze(-2)
        else:
            # The window's first integer, moved inwards at the ends so that all of the window exists in memory.
            first = (centre.detach() - window).ceil().long().clamp(0, length - width)
            positions = first + torch.arange(width, device=query.device)
            distance = positions - centre
            real = mask.unsqueeze(-2).expand(*positions.shape[:-1], -1).gather(-1, positions)
        inside = (distance.abs() <= window) & real
        return Window(inside, positions, self.gaussian(distance, window))


class LocalMonotonicScope(LocalScope):
    """softmax over p_t ± D, p_t = min(t, S − 1) (Luong et al. 2015, section 3.2, local-m)."""

    name = "local_m"

    def centre(self, query: Queries, t: Steps, lengths: Lengths) -> Float[Tensor, "*#B T"]:
        return torch.minimum(t, lengths.unsqueeze(-1) - 1).float()  # exact, whatever the query's precision


@dataclass(frozen=True)
class LocalPredictiveOptions(LocalOptions):
    """The options of local-p."""

    initial_position: Literal["diagonal", "middle"] = "diagonal"
    """The centre before training: `diagonal`, source word t for target word t, or `middle`, as in equation 9."""
    fixed_above: Count = 20
    """While D is above this, the centre stays where it begins: in a wide window, wrong centres cost nothing."""


class LocalPredictiveScope(LocalScope):
    """the same around p_t = S·sigmoid(v_pᵀ tanh(W_p h) + d_t) (Luong et al. 2015, equations 9 and 10, local-p).

    The paper has d_t = 0 (`middle`). With `diagonal` it is logit((min(t, S − 1) + ½) / S): there the centre begins at
    the t-th of S equal parts, so that little has to be learnt where both languages have nearly the same order.
    The weights are multiplied by exp(−(s − p_t)² / 2σ²) with σ = D/2 (equation 10), and not normalised again.
    """

    name = "local_p"
    Options: ClassVar[type[Any]] = LocalPredictiveOptions

    def __init__(
        self,
        query_size: int,
        *,
        initial_position: Literal["diagonal", "middle"] = "diagonal",
        fixed_above: int = 20,
        **window: int,
    ) -> None:
        super().__init__(query_size, **window)
        self.initial_position = initial_position
        self.fixed_above = fixed_above
        self.hidden = Linear(query_size, query_size, bias=False)
        self.v = Linear(query_size, 1, bias=False)

    def centre(self, query: Queries, t: Steps, lengths: Lengths) -> Float[Tensor, "*#B T"]:
        if self.current_window() > max(self.window, self.fixed_above):
            query = torch.zeros_like(query)  # then p_t is that of d_t, and the gradients of W_p and v_p are 0
        logit = self.v(torch.tanh(self.hidden(query))).squeeze(-1)
        # Of bfloat16 products in float32: bfloat16 has too few digits for positions.
        logit, length = logit.to(torch.promote_types(logit.dtype, torch.float32)), lengths.unsqueeze(-1)
        if self.initial_position == "diagonal":
            logit = logit + torch.logit((torch.minimum(t, length - 1).to(logit.dtype) + 0.5) / length)
        return length * torch.sigmoid(logit)

    def gaussian(self, distance: Weights, window: int) -> Weights:
        return torch.exp(-2 * (distance / window) ** 2)  # 2σ² = D²/2
