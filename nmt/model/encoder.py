"""The bidirectional GRU encoder (Bahdanau et al. 2015, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.kernels.dropout import Dropout, EmbeddingDropout, dropout
from nmt.kernels.gru import gru_sequence
from nmt.kernels.linear import by_hand, linear


class Encoded(NamedTuple):
    """A batch of encoded sentences; M is twice the encoder's hidden size."""

    values: Float[Tensor, "B S M"]  # [→h_s; ←h_s] of the top layer, 0 at padding
    final: Float[Tensor, "B M"]  # [→h at the last position; ←h at the first] of the top layer
    mask: Bool[Tensor, "B S"]  # True at the sentence's own positions
    lengths: Int[Tensor, " B"]  # their number, EOS counted


class Encoder(nn.Module):
    """Embedding and a bidirectional GRU, whose backward direction starts at each sentence's own last token."""

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_size: int,
        layers: int,
        dropout: float,
        embedding_dropout: float,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = EmbeddingDropout(embedding_dropout, word_dropout)
        self.rnn = nn.GRU(
            embedding.embedding_dim,
            hidden_size,
            layers,
            batch_first=True,
            bidirectional=True,
            dropout=dropout if layers > 1 else 0.0,
        )
        self.dropout = Dropout(dropout)
        self.memory_size = 2 * hidden_size

    def forward(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Encoded:
        """Encode padded source ids. `lengths` count EOS and lie on the CPU."""
        embedded = self.embedding_dropout(self.embedding(source))
        run = bidirectional_gru if by_hand(embedded) else packed_gru
        values, final = run(self.rnn, embedded, lengths)
        lengths = lengths.to(source.device)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(1)
        return Encoded(self.dropout(values), self.dropout(final), mask, lengths)


def packed_gru(
    rnn: nn.GRU, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
    """PyTorch's own GRU (cuDNN's, on a GPU): the top layer's states, 0 at padding, and the final ones."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = rnn(packed)
    values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
    return values, torch.cat([last[-2], last[-1]], dim=1)


def bidirectional_gru(
    rnn: nn.GRU, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
    """`packed_gru` by `gru_sequence`, on a processor.

    Both directions run from left to right, the backward one over sentences that are mirrored within their own length:
    so the padding is at the end, where it reaches nothing that is kept.
    """
    batch, length, _ = inputs.shape
    sentences, places = torch.arange(batch), torch.arange(length).unsqueeze(1)
    real = places < lengths
    straight = (places * batch + sentences).flatten()  # rows of a (S B ·) tensor
    mirrored = (torch.where(real, lengths - 1 - places, places) * batch + sentences).flatten()
    outputs = inputs.transpose(0, 1).flatten(0, 1)
    for layer in range(rnn.num_layers):
        if layer and rnn.training:
            outputs = dropout(outputs, rnn.dropout)
        directions = []
        for suffix, rows in (("", straight), ("_reverse", mirrored)):
            input_weight, input_bias, weight, bias = (
                getattr(rnn, f"{name}_l{layer}{suffix}") for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            gates = linear(outputs, input_weight, input_bias).index_select(0, rows).view(length, batch, -1)
            states = gru_sequence(gates, gates.new_zeros(batch, rnn.hidden_size), weight, bias)
            directions.append(states.flatten(0, 1).index_select(0, rows))  # mirrored twice is straight
        outputs = torch.cat(directions, dim=1)
    forward, backward = directions
    final = torch.cat([forward.index_select(0, (lengths - 1) * batch + sentences), backward[:batch]], dim=1)
    values = (outputs * real.reshape(-1, 1)).view(length, batch, -1).transpose(0, 1)
    return values, final
