"""Coverage with fertilities: how much attention a source position is expected to get.

Shapes: T queries, S source positions, M memory vector, A alignment. *B are any leading dimensions.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.layers import Linear
from nmt.model.scores import Keys, Queries, Score, Scores


class FertileScore(Score):
    """Another score, whose coverage is C_s / Φ_s (Tu et al. 2016, section 3).

    C_s, the sum of a position's weights so far, is divided by Φ_s = N sigmoid(u_fᵀ v_s), the sum that it is expected to
    reach, which is less than N. A key is the other score's with Φ_s as one more value. With several heads each has its
    own v_s, and so its own fertilities.
    """

    def __init__(self, score: Score, memory_size: int, most: float) -> None:
        nn.Module.__init__(self)
        self.score, self.most = score, most
        self.fertility = Linear(memory_size, 1, bias=False)

    @property
    def coverage(self) -> Linear | None:  # type: ignore[override]
        """The other score's weights of coverage."""
        return self.score.coverage

    @property
    def one_product(self) -> bool:  # type: ignore[override]
        return self.score.one_product

    def keys(self, values: Float[Tensor, "*B S M"]) -> Keys:
        return torch.cat([self.score.keys(values), self.most * torch.sigmoid(self.fertility(values))], dim=-1)

    def forward(self, query: Queries, keys: Keys, coverage: Scores | None = None) -> Scores:
        assert coverage is not None
        keys, fertilities = keys.split((keys.shape[-1] - 1, 1), dim=-1)
        return self.score(query, keys, coverage / fertilities.transpose(-2, -1))
