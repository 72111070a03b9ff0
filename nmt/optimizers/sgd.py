"""Stochastic gradient descent: each step is the gradient, times the learning rate."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from nmt.optimizers.base import Optimizer
from nmt.registry import BelowOne, Positive


class SGD(Optimizer):
    """Stochastic gradient descent, by which Luong et al. (2015) trained.

    Their learning rate (section 4.1) is 1, with `schedule.kind: halving`, and a gradient's norm is at most 5.
    """

    learning_rate: Positive = 1.0
    momentum: BelowOne = 0.0
    """How much of the last step goes into the next one."""

    @property
    def moments(self) -> tuple[str, ...]:
        return ("momentum_buffer",) if self.momentum else ()

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        # not fused: that form does not know weights that wait for their first gradient after others had theirs
        return torch.optim.SGD(weights, lr=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay)
