"""The bidirectional GRU encoder (Bahdanau et al. 2015, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Encoded(NamedTuple):
    """A batch of encoded sentences; M is twice the encoder's hidden size."""

    values: Float[Tensor, "B S M"]  # [→h_s; ←h_s] of the top layer, 0 at padding
    final: Float[Tensor, "B M"]  # [→h at the last position; ←h at the first] of the top layer
    mask: Bool[Tensor, "B S"]  # True at the sentence's own positions
    lengths: Int[Tensor, " B"]  # their number, EOS counted


class Encoder(nn.Module):
    """Embedding and a bidirectional GRU. Packing starts the backward direction at each sentence's own last token."""

    def __init__(
        self, embedding: nn.Embedding, hidden_size: int, layers: int, dropout: float, embedding_dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.rnn = nn.GRU(
            embedding.embedding_dim,
            hidden_size,
            layers,
            batch_first=True,
            bidirectional=True,
            dropout=dropout if layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(dropout)
        self.memory_size = 2 * hidden_size

    def forward(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Encoded:
        """Encode padded source ids. `lengths` count EOS and lie on the CPU."""
        embedded = self.embedding_dropout(self.embedding(source))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = self.rnn(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        lengths = lengths.to(source.device)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(1)
        final = torch.cat([last[-2], last[-1]], dim=1)
        return Encoded(self.dropout(values), self.dropout(final), mask, lengths)
