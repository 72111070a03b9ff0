"""The bidirectional encoder (Bahdanau et al. 2015, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels import Dropout
from nmt.model.embedding import EmbeddingDropout
from nmt.model.recurrent import BIDIRECTIONAL, Cell
from nmt.model.self_attention import SelfAttention


class Encoded(NamedTuple):
    """A batch of encoded sentences; M is twice the encoder's hidden size."""

    values: Float[Tensor, "B S M"]  # [→h_s; ←h_s] of the top layer, or self-attention over these; 0 at padding
    final: Float[Tensor, "B M"]  # [→h at the last position; ←h at the first] of the top layer
    mask: Bool[Tensor, "B S"]  # True at the sentence's own positions
    lengths: Int[Tensor, " B"]  # their number, EOS counted
    source: Int[Tensor, "B S"]  # the ids


class Encoder(nn.Module):
    """Embedding and a bidirectional GRU or LSTM, whose backward direction starts at each sentence's own last token.

    With `self_attention` heads, if that is not 0, the memory is self-attention over their states.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_size: int,
        layers: int,
        dropout: float,
        embedding_dropout: float,
        word_dropout: float = 0.0,
        self_attention: int = 0,
        cell: Cell = "gru",
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = EmbeddingDropout(embedding_dropout, word_dropout)
        self.rnn = BIDIRECTIONAL[cell](embedding.embedding_dim, hidden_size, layers, dropout)
        self.dropout = Dropout(dropout)
        self.memory_size = 2 * hidden_size
        self.self_attention = SelfAttention(self.memory_size, self_attention) if self_attention else None

    def forward(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Encoded:
        """Encode padded source ids. `lengths` count EOS; see `BidirectionalGRU.forward` for where they lie."""
        embedded = self.embedding_dropout(self.embedding(source))
        values, final = self.rnn(embedded, lengths)
        lengths = lengths.to(source.device)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(1)
        if self.self_attention is not None:
            values = self.self_attention(values, mask)
        return Encoded(self.dropout(values), self.dropout(final), mask, lengths, source)


class Known(nn.Module):
    """What an encoder made of a batch, in the encoder's place: for a model that takes the same batch several times."""

    def __init__(self, encoded: Encoded) -> None:
        super().__init__()
        self.encoded = encoded

    def forward(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Encoded:
        return self.encoded
