"""Softmax of scores with random noise: positions are tried in training, as a sample of one of them would.

Shapes: W positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from nmt.model.normalizers import Softmax


@dataclass(frozen=True)
class GumbelOptions:
    """The options of `gumbel`."""

    gumbel_temperature: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """τ. The lower it is, the nearer are the weights to one 1 among zeros."""


class Gumbel(Softmax):
    """softmax((e_s + g_s) / τ), with g_s = −log(−log u_s) of random u_s (Jang et al. 2017, equation 2).

    The noise g is drawn in training alone; otherwise it is 0. With `hard: true` this is their straight-through
    estimator: the context is that of one position, in training a sample from softmax(e), in search the best one.
    """

    name = "gumbel"
    Options = GumbelOptions

    def __init__(self, *, gumbel_temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = gumbel_temperature

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        if self.training:
            # −log u is exponential; a 0 among these numbers, of which float32 has one in 2²⁴, has no logarithm.
            exponential = torch.empty_like(scores, dtype=torch.float32).exponential_().clamp(min=1e-20)
            scores = scores - exponential.log()
        return super().forward(scores / self.temperature, inside)
