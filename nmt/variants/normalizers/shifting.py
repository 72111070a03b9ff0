"""What normalizers with exact zeros begin with: scores moved to where their thresholds are known to lie.

Shapes: W positions.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

BELOW = -2.0  # below any threshold, which is from −1 to 0


def below_the_largest(
    scores: Float[Tensor, "*#B W"], inside: Bool[Tensor, "*#B W"], factor: float | Tensor = 1.0
) -> Float[Tensor, "*B W"]:
    """factor · (e_s − max e), 0 at the largest score inside; `BELOW` outside, and where it would be lower.

    Where none is inside, all count as inside, so that there are thresholds. In float32 at least: sums over sorted
    bfloat16 would lose digits. Weights do not depend on what is added to all scores, so the largest has no gradient.
    """
    inside = inside | ~inside.any(dim=-1, keepdim=True)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    largest = scores.detach().masked_fill(~inside, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True)
    return (factor * (scores - largest)).masked_fill(~inside, BELOW).clamp(min=BELOW)
