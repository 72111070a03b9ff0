"""AdamW, Adam with another weight decay."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from nmt.optimizers.adam import Adam


class AdamW(Adam):
    """Adam whose weight decay is not part of the gradient, but shrinks the weights (Loshchilov and Hutter 2019)."""

    def of(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
