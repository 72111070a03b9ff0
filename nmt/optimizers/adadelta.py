"""Adadelta: each step is as large as the last ones were, and turned by the gradient."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from nmt.optimizers.base import Optimizer
from nmt.registry import Fraction, Positive


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012), by which Bahdanau et al. (2015) trained.

    Zeiler's rule has no learning rate, so it is 1 by default.
    In Bahdanau's paper (appendix B.2) a gradient's norm is at most 1.
    """

    learning_rate: Positive = 1.0
    rho: Fraction = 0.95
    """ρ, the decay of the mean squares of gradients and of steps."""
    epsilon: Positive = 1e-6
    """ε, what is added to these mean squares. The larger it is, the larger are the first steps."""

    @property
    def moments(self) -> tuple[str, ...]:
        return ("step", "square_avg", "acc_delta")

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adadelta(
            weights, lr=self.learning_rate, rho=self.rho, eps=self.epsilon, weight_decay=self.weight_decay
        )
