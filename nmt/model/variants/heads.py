"""Several attention heads (Vaswani et al. 2017, section 3.2.2) over any score and scope."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.layers import Linear


class Heads(nn.Module):
    """n projections of queries, keys and values, and one of the joined contexts.

    All heads share one score and one scope, which work on the projections. n must divide the sizes of query and value.
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
