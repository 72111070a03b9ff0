"""How the scores of source positions become their attention weights.

Shapes: W positions. *B are any leading dimensions; where it is *#B, a dimension of 1 is for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.model.options import NoOptions


class Normalizer(nn.Module, ABC):
    """Weights of scores.

    The class docstring begins with the formula and, in parentheses, its paper: the documents show both.
    It is called with the fields of its `Options`, and initializes its own parameters.
    """

    Options: ClassVar[type[Any]] = NoOptions
    name: ClassVar[str]  # in configs

    @abstractmethod
    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        """The weights of the positions inside; exactly 0 at the others, and everywhere if none is inside."""


class Softmax(Normalizer):
    """exp(e_s) / Σ_k exp(e_k) (Bahdanau et al. 2015, equation 6)."""

    name = "softmax"

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        lowest = torch.finfo(scores.dtype).min  # not −∞, which if nothing is inside gives 0 / 0
        return scores.masked_fill(~inside, lowest).softmax(dim=-1) * inside
