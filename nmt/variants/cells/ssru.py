"""The simpler simple recurrent unit of Marian's fast student models."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.variants.linear import LinearCell


class SSRUCell(LinearCell):
    """f = σ(W_f x); c' = f ∘ c + (1 − f) ∘ W x; h' = ReLU(c') (Kim et al. 2019)."""

    name, gates, states = "ssru", 2, 2

    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        gate, candidate = inputs.chunk(2, dim=-1)
        forget = torch.sigmoid(gate)
        return forget, (1 - forget) * candidate

    def output(self, memory: Float[Tensor, "*N C"], inputs: Float[Tensor, "*N G"]) -> Float[Tensor, "*N H"]:
        return torch.relu(memory)
