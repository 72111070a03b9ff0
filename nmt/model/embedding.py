"""Dropout of embeddings."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels import Dropout


class EmbeddingDropout(nn.Module):
    """Dropout of whole embeddings, and of each of their numbers."""

    def __init__(self, rate: float, word_rate: float) -> None:
        super().__init__()
        self.numbers = Dropout(rate)
        self.words = Dropout(word_rate)

    def forward(self, embedded: Float[Tensor, "*N E"]) -> Float[Tensor, "*N E"]:
        if self.training and self.words.p:
            embedded = embedded * self.words(embedded.new_ones(*embedded.shape[:-1], 1))
        return self.numbers(embedded)
