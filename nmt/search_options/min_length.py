"""A shortest length of translations."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.search_options.blocking import block


def block_end(min_length: int, eos: int, log_probabilities: Float[Tensor, "B K V"], ids: Int[Tensor, "B K L"]) -> None:
    """−∞, in place, for EOS while fewer than `min_length` ids follow BOS."""
    if ids.shape[2] - 1 < min_length:
        mask = torch.zeros_like(log_probabilities, dtype=torch.bool)
        mask[:, :, eos] = True
        block(log_probabilities, mask)
