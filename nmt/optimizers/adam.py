"""Adam, each weight's step divided by the size of its gradients."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from nmt.optimizers.base import Optimizer


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), with β₁ = 0.9 and β₂ = 0.999. Weight decay is added to the gradient."""

    @property
    def moments(self) -> tuple[str, ...]:
        return ("step", "exp_avg", "exp_avg_sq")

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
