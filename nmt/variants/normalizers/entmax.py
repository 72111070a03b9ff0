"""α-entmax with a learnt α: softmax in the limit α → 1, sparsemax at α = 2.

Shapes: W positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from nmt.model.normalizers import Normalizer
from nmt.variants.normalizers.shifting import below_the_largest

LEAST, MOST = 1.01, 1.99  # α stays between them: at 1 the formula divides by 0
HALVINGS = 20  # of an interval of size 1; then two steps of Newton's, each of which about squares the error


@dataclass(frozen=True)
class EntmaxOptions:
    """The options of `entmax`."""

    alpha: Annotated[float, Field(gt=LEAST, lt=MOST)] = 1.5
    """α before training. The higher it is, the more weights are 0: near 1 as in softmax, near 2 as in sparsemax."""


class Entmax(Normalizer):
    """max(0, (α − 1) e_s − τ)^(1 / (α − 1)), with the τ for which they sum to 1 (Correia et al. 2019).

    α is learnt, from 1.01 to 1.99, one for all heads. τ is found by bisection (Peters, Niculae and
    Martins 2019, algorithm 1).
    """

    name = "entmax"
    Options = EntmaxOptions

    def __init__(self, *, alpha: float = 1.5) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.logit(torch.tensor((alpha - LEAST) / (MOST - LEAST))))

    @property
    def alpha(self) -> Float[Tensor, ""]:
        """α, of which only a logit is learnt."""
        return LEAST + (MOST - LEAST) * torch.sigmoid(self.logit)

    def forward(self, scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"]) -> Float[Tensor, "*B W"]:
        power = 1 / (self.alpha - 1)
        z = below_the_largest(scores, inside, self.alpha - 1)
        threshold = newton_step(z, power, near_threshold(z.detach(), power.detach()))
        return ((z - threshold).clamp(min=0) ** power * inside).to(scores.dtype)


@torch.no_grad()
def near_threshold(z: Float[Tensor, "*B W"], power: Float[Tensor, ""]) -> Float[Tensor, "*B 1"]:
    """The τ in [−1, 0] for which Σ max(0, z_s − τ)^power = 1, nearly, where the largest z is 0."""
    low = torch.full_like(z[..., :1], -1.0)  # there the largest z alone gives 1
    step = torch.ones_like(low)
    for _ in range(HALVINGS):
        step = step / 2
        sums = ((z - low - step).clamp(min=0) ** power).sum(dim=-1, keepdim=True)
        low = torch.where(sums >= 1, low + step, low)
    return newton_step(z, power, low)


def newton_step(
    z: Float[Tensor, "*B W"], power: Float[Tensor, ""], threshold: Float[Tensor, "*B 1"]
) -> Float[Tensor, "*B 1"]:
    """A threshold that is a little better, and has the gradient of the exact one in z and in the power.

    For the sum f of the weights that is −df / (∂f/∂τ), by the implicit function theorem (Correia et al. 2019,
    proposition 1): Newton's step τ − (f − 1) / (∂f/∂τ), where the divisor counts as constant.
    """
    above = (z - threshold).clamp(min=0)
    slope = -power.detach() * (above.detach() ** (power.detach() - 1)).sum(dim=-1, keepdim=True)
    return threshold - ((above**power).sum(dim=-1, keepdim=True) - 1) / slope
