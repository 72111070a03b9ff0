"""What all optimizers share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import torch
from torch import nn

from nmt.registry import NonNegative, Part, Positive, Section


class Optimizer(Section, Part):
    """How an update changes the weights. Its options are its own fields."""

    learning_rate: Positive = 1e-3
    """The learning rate that `schedule` starts from."""
    weight_decay: NonNegative = 0.0
    """The optimizer's weight decay."""

    @property
    @abstractmethod
    def moments(self) -> tuple[str, ...]:
        """What it keeps of each weight, by PyTorch's names: tensors of the weight's shape, and a number, `step`."""

    @abstractmethod
    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """PyTorch's optimizer of these weights, before its first step."""
