"""The bidirectional encoder (Bahdanau et al. 2015, section 3.2)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.model.layers import glorot, open_forget_gates, orthogonal
from nmt.model.variants.heads import SelfAttention


class Encoded(NamedTuple):
    """A batch of encoded sentences; M is twice the encoder's hidden size."""

    values: Float[Tensor, "B S M"]  # [→h_s; ←h_s] of the top layer, or self-attention over these; 0 at padding
    final: Float[Tensor, "B M"]  # [→h at the last position; ←h at the first] of the top layer
    mask: Bool[Tensor, "B S"]  # True at the sentence's own positions
    lengths: Int[Tensor, " B"]  # their number, EOS counted
    source: Int[Tensor, "B S"]  # the ids


class Encoder(nn.Module):
    """Embedding and a bidirectional `rnn`, whose backward direction starts at each sentence's own last token.

    With `self_attention` heads, if that is not 0, the memory is self-attention over their states.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        rnn: nn.Module,
        memory_size: int,
        dropout: float,
        embedding_dropout: float,
        self_attention: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.rnn = rnn
        self.dropout = nn.Dropout(dropout)
        self.memory_size = memory_size
        self.self_attention = SelfAttention(memory_size, self_attention) if self_attention else None

    def forward(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Encoded:
        """Encode padded source ids. `lengths` count EOS, and are on the CPU."""
        embedded = self.embedding_dropout(self.embedding(source))
        values, final = self.rnn(embedded, lengths)
        lengths = lengths.to(source.device)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(1)
        if self.self_attention is not None:
            values = self.self_attention(values, mask)
        return Encoded(self.dropout(values), self.dropout(final), mask, lengths, source)


class Bidirectional(nn.RNNBase):
    """A GRU or LSTM in both directions over padded sentences; `dropout` is the rate between layers.

    Its input weights begin as Glorot's, its recurrent ones orthogonal, its biases 0 (an LSTM's forget gates: 1).
    """

    gates: ClassVar[int]

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        between = dropout if layers > 1 else 0.0
        super().__init__(inputs, hidden, layers, batch_first=True, bidirectional=True, dropout=between)  # type: ignore[arg-type]  # nn.GRU and nn.LSTM add the mode

    def reset_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            if name.startswith("bias_hh") and self.gates == 4:
                open_forget_gates(parameter)
            elif name.startswith("bias"):
                nn.init.zeros_(parameter)
            elif name.startswith("weight_hh"):
                orthogonal(parameter, self.gates)
            else:
                glorot(parameter, self.gates)

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """The top layer's states [→h_s; ←h_s], 0 at padding, and the final ones: →h at the last position, ←h at 0."""
        # Packed, so that the backward direction does not start in the padding.
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = super().forward(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        hidden = last[0] if isinstance(last, tuple) else last
        return values, torch.cat([hidden[-2], hidden[-1]], dim=1)


class BidirectionalGRU(Bidirectional, nn.GRU):  # type: ignore[misc]  # takes padded sentences
    gates = 3


class BidirectionalLSTM(Bidirectional, nn.LSTM):  # type: ignore[misc]
    gates = 4
