"""The training loss: cross-entropy with label smoothing, and the unsmoothed likelihood that perplexity is made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class Loss(NamedTuple):
    """Sums over target tokens, in nats."""

    smoothed: Float[Tensor, ""]  # what training minimises
    nll: Float[Tensor, ""]  # negative log-likelihood of the reference


def cross_entropy(logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float) -> Loss:
    """(1 − ε) · −log p(y) + ε · the mean of −log p over the vocabulary (Szegedy et al. 2016, section 7)."""
    return summed(logits.log_softmax(dim=1), targets, smoothing)


def summed(log_probabilities: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float) -> Loss:
    """The same of log-probabilities."""
    nll = -log_probabilities.gather(1, targets.unsqueeze(1)).sum()
    if smoothing == 0:
        return Loss(nll, nll.detach())
    uniform = -log_probabilities.mean(dim=1).sum()
    return Loss((1 - smoothing) * nll + smoothing * uniform, nll.detach())


def perplexity(loss: float) -> float:
    """exp(loss), for a loss in nats per token; infinite where that overflows."""
    return math.exp(loss) if loss < 700 else math.inf
