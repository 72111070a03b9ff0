"""The quasi-recurrent network's pooling, over windows of a single word."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.variants.linear import LinearCell


class QRNNCell(LinearCell):
    """z, f, o = W x; c' = σ(f) ∘ c + (1 − σ(f)) ∘ tanh(z); h' = σ(o) ∘ c' (Bradbury et al. 2017, fo-pooling)."""

    name, gates, states = "qrnn", 3, 2

    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        candidate, gate, _ = inputs.chunk(3, dim=-1)
        forget = torch.sigmoid(gate)
        return forget, (1 - forget) * torch.tanh(candidate)

    def output(self, memory: Float[Tensor, "*N C"], inputs: Float[Tensor, "*N G"]) -> Float[Tensor, "*N H"]:
        return torch.sigmoid(inputs.chunk(3, dim=-1)[2]) * memory
