"""The minLSTM: an LSTM whose gates read the input alone, and sum to 1."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from nmt.variants.linear import LinearCell


class MinLSTMCell(LinearCell):
    """f = σ(W_f x); i = σ(W_i x); h' = (f ∘ h + i ∘ (W x)) / (f + i) (Feng et al. 2024, section 3.2)."""

    name, gates, states = "minlstm", 3, 1

    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        forget, input_gate, candidate = inputs.chunk(3, dim=-1)
        # f / (f + i) = σ(log f − log i), which has no quotient of two numbers that may both be 0.
        share = F.softplus(-input_gate) - F.softplus(-forget)
        return torch.sigmoid(share), torch.sigmoid(-share) * candidate
