"""The minGRU: a GRU whose gate and candidate read the input alone."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.variants.linear import LinearCell


class MinGRUCell(LinearCell):
    """z = σ(W_z x); h' = (1 − z) ∘ h + z ∘ (W x) (Feng et al. 2024, section 3.1)."""

    name, gates, states = "mingru", 2, 1

    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        gate, candidate = inputs.chunk(2, dim=-1)
        update = torch.sigmoid(gate)
        return 1 - update, update * candidate
