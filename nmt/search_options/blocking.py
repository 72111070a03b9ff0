"""Tokens that must not come next."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def block(log_probabilities: Float[Tensor, "B K V"], mask: Bool[Tensor, "B K V"]) -> None:
    """−∞, in place, where the mask is; but a hypothesis for which no token would be left keeps all."""
    is_left = (~mask & (log_probabilities > -torch.inf)).any(dim=2, keepdim=True)
    log_probabilities.masked_fill_(mask & is_left, -torch.inf)
