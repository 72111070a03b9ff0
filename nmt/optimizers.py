"""How an update changes the weights. `training.optimizer` selects one of these optimizers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import nn

from nmt.registry import BelowOne, Fraction, NonNegative, Positive, Section


class Optimizer(Section):
    """How an update changes the weights. Its options are its own fields."""

    name: ClassVar[str]  # in the config

    learning_rate: Positive = 1e-3
    """The learning rate that `schedule` starts from."""
    weight_decay: NonNegative = 0.0
    """The optimizer's weight decay."""

    @property
    @abstractmethod
    def moments(self) -> tuple[str, ...]:
        """The state of each weight, by PyTorch's names: tensors of the weight's shape, and a scalar, `step`."""

    @abstractmethod
    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """PyTorch's optimizer of these weights, before its first step."""


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012), by which Bahdanau et al. (2015) trained.

    Zeiler's rule has no learning rate, so it is 1 by default.
    In Bahdanau's paper (appendix B.2) a gradient's norm is at most 1.
    """

    name = "adadelta"

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


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), with β₁ = 0.9 and β₂ = 0.999. Weight decay is added to the gradient."""

    name = "adam"

    @property
    def moments(self) -> tuple[str, ...]:
        return ("step", "exp_avg", "exp_avg_sq")

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)


class AdamW(Adam):
    """Adam whose weight decay is not part of the gradient, but shrinks the weights (Loshchilov and Hutter 2019)."""

    name = "adamw"

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)


class SGD(Optimizer):
    """Stochastic gradient descent, by which Luong et al. (2015) trained.

    Their learning rate (section 4.1) is 1, with `schedule.kind: halving`, and a gradient's norm is at most 5.
    """

    name = "sgd"

    learning_rate: Positive = 1.0
    momentum: BelowOne = 0.0
    """How much of the last step goes into the next one."""

    @property
    def moments(self) -> tuple[str, ...]:
        return ("momentum_buffer",) if self.momentum else ()

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        # not fused: that form does not know weights that wait for their first gradient after others had theirs
        return torch.optim.SGD(weights, lr=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay)
