"""How an update changes the weights. `training.optimizer` selects one of these optimizers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import nn

from nmt.registry import BelowOne, Fraction, NonNegative, Positive, Section


class Optimizer(Section):
    """How an update changes the weights. Its options are its own fields."""

    name: ClassVar[str]  # in the config

    learning_rate: Positive = 1e-3
    """The learning rate that `schedule` starts from."""
    weight_decay: NonNegative = 0.0
    """The optimizer's weight decay."""

    @abstractmethod
    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """PyTorch's optimizer of these weights, before its first step.

        A checkpoint keeps its state of each weight: tensors of the weight's shape, and a scalar called `step`.
        """


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012), by which Bahdanau et al. (2015) trained.

    Zeiler's rule has no learning rate, so it is 1 by default.
    In Bahdanau's paper (appendix B.2) a gradient's norm is at most 1.
    """

    name = "adadelta"

    learning_rate: Positive = 1.0
    rho: Fraction = 0.95
    """ρ, the decay of the mean squares of gradients and of steps."""
    epsilon: Annotated[float, Field(ge=1e-30, le=1e6)] = 1e-6  # a smaller one is 0 in 32 bits
    """ε, which is added to these mean squares. A larger one makes the first steps larger."""

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        rate, decay = self.learning_rate, self.weight_decay
        return torch.optim.Adadelta(weights, lr=rate, rho=self.rho, eps=self.epsilon, weight_decay=decay)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), with β₁ = 0.9 and β₂ = 0.999. Weight decay is added to the gradient."""

    name = "adam"
    algorithm: ClassVar[type[torch.optim.Adam]] = torch.optim.Adam

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return self.algorithm(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)


class AdamW(Adam):
    """Adam whose weight decay is not part of the gradient, but shrinks the weights (Loshchilov and Hutter 2019)."""

    name = "adamw"
    algorithm = torch.optim.AdamW


class SGD(Optimizer):
    """Stochastic gradient descent, by which Luong et al. (2015) trained.

    Their learning rate (section 4.1) is 1, with `schedule.kind: halving`, and a gradient's norm is at most 5.
    """

    name = "sgd"

    learning_rate: Positive = 1.0
    momentum: BelowOne = 0.0
    """The momentum."""

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        # not fused: that form does not know weights that wait for their first gradient after others had theirs
        return torch.optim.SGD(weights, lr=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay)
