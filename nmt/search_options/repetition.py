"""Lower probabilities of tokens that are written already."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def penalise_repetition(theta: float, log_probabilities: Float[Tensor, "B K V"], ids: Int[Tensor, "B K L"]) -> None:
    """p(w)^θ, in place, for the ids w behind BOS, and p(w) for all others, normalised (Keskar et al. 2019, 4.1).

    Their equation divides the score of w by θ, which lowers positive scores only. These are log-probabilities, all
    negative, and multiplied.
    """
    is_written = torch.zeros_like(log_probabilities, dtype=torch.bool).scatter_(2, ids[:, :, 1:], True)
    log_probabilities.copy_(log_probabilities.where(~is_written, theta * log_probabilities).log_softmax(dim=2))
