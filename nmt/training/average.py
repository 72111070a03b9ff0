"""An exponential moving average of the weights, which translates better than the weights (Polyak and Juditsky 1992)."""

from __future__ import annotations

from copy import deepcopy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)


class MovingAverage(Generic[Model]):
    """A copy of a model whose weights follow the model's."""

    def __init__(self, model: Model, decay: float) -> None:
        self.model = deepcopy(model).eval().requires_grad_(False)
        for module in self.model.modules():
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()  # a copy's weights lie apart, and cuDNN wants them in one piece
        self.decay = decay
        self._pairs: tuple[list[Tensor], list[Tensor]] = list(self.model.parameters()), list(model.parameters())

    def update(self, updates: int) -> None:
        """Move the average towards the weights after update number n = `updates`.

        The new average is d · average + (1 − d) · weights, with d = min(decay, (1 + n) / (10 + n)), so that the
        untrained weights are soon forgotten.
        """
        averages, weights = self._pairs
        keep = min(self.decay, (1 + updates) / (10 + updates))
        with torch.no_grad():
            torch._foreach_lerp_(averages, weights, 1 - keep)
