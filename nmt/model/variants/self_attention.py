"""Self-attention over the encoder's states: each source position also reads all the others.

Shapes: B sentences, S source positions, M memory vector, n heads.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.model.layers import Linear


class SelfAttention(nn.Module):
    """LayerNorm(v + MultiHead(v, v, v)) (Vaswani et al. 2017, sections 3.1 and 3.2), with n heads; n must divide M."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(size, size, bias=False)
        self.key = Linear(size, size, bias=False)
        self.value = Linear(size, size, bias=False)
        self.output = Linear(size, size, bias=False)
        self.norm = nn.LayerNorm(size)

    def forward(self, values: Float[Tensor, "B S M"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S M"]:
        """The new values. Padding, where the mask is False, gets 0 and has no influence on other positions."""
        query, key, value = (
            layer(values).unflatten(2, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        scores = (query / query.shape[-1] ** 0.5) @ key.transpose(-2, -1)
        weights = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(dim=-1)
        joined = (weights @ value).transpose(1, 2).flatten(2)
        return self.norm(values + self.output(joined)) * mask.unsqueeze(2)
