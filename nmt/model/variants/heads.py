"""Several attention heads (Vaswani et al. 2017, section 3.2.2), and self-attention over the encoder's states.

Shapes: B sentences, L vectors of size D, n heads, d a head's share of D, S source positions, M memory vector.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.model.layers import Linear


class Heads(nn.Module):
    """n projections of queries, keys and values, and one of the joined contexts; n must divide the sizes of both.

    In the decoder's attention all heads share one score and one scope, which work on the projections.
    """

    def __init__(self, count: int, query_size: int, value_size: int) -> None:
        super().__init__()
        self.count = count
        self.query = Linear(query_size, query_size, bias=False)
        self.key = Linear(value_size, query_size, bias=False)
        self.value = Linear(value_size, value_size, bias=False)
        self.output = Linear(value_size, value_size, bias=False)

    def split(self, projected: Float[Tensor, "B L D"]) -> Float[Tensor, "B n L d"]:
        """Each head's share of a projection."""
        return projected.unflatten(2, (self.count, -1)).transpose(1, 2)

    def join(self, contexts: Float[Tensor, "B n T d"]) -> Float[Tensor, "B T D"]:
        """The contexts of all heads, joined and projected."""
        return self.output(contexts.transpose(1, 2).flatten(2))


class SelfAttention(Heads):
    """LayerNorm(v + MultiHead(v, v, v)) (Vaswani et al. 2017, sections 3.1 and 3.2): positions read all others."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__(heads, size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, values: Float[Tensor, "B S M"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S M"]:
        """The new values. Padding, where the mask is False, gets 0 and has no influence on other positions."""
        query, key, value = (self.split(layer(values)) for layer in (self.query, self.key, self.value))
        scores = (query / query.shape[-1] ** 0.5) @ key.transpose(-2, -1)
        weights = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(dim=-1)
        return self.norm(values + self.join(weights @ value)) * mask.unsqueeze(2)
