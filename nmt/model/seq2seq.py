"""The whole model: encoder and decoder."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.decoder import Decoder, DecoderState
from nmt.model.encoder import Encoder


class Seq2Seq(nn.Module):
    """p(target | source), trained with teacher forcing."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.output.weight.device

    @property
    def has_attention(self) -> bool:
        return not isinstance(self.decoder.attention, FixedContext)

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment; none if attention has no segments."""
        attention = self.decoder.attention
        return attention.scope.ends if isinstance(attention, Attention) else ()

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[DecoderState, Memory]:
        """The decoder's initial state and memory for padded source ids."""
        encoded = self.encoder(source, source_lengths)
        return self.decoder.initial_state(encoded), self.decoder.prepare(encoded)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        target_input: Int[Tensor, "B T"],
        loss_positions: Int[Tensor, " N"],
        teacher_forcing_mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "N F"], Alignment]:
        """What the output layer multiplies at N of the flattened target positions, and all attention weights (B T W).

        `loss_positions` are those N, all but padding; `teacher_forcing_mask` is that of `Decoder.forward`.
        """
        state, memory = self.encode(source, source_lengths)
        readouts, alignment = self.decoder(target_input, state, memory, teacher_forcing_mask)
        return self.decoder.features(readouts.flatten(0, 1).index_select(0, loss_positions)), alignment

    def step(
        self, tokens: Int[Tensor, " N"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "N V"], DecoderState]:
        """The log-probabilities of each hypothesis' next token, from its last one; and the new state."""
        readout, state, _ = self.decoder.step(self.decoder.embed(tokens), state, memory)
        return self.decoder.logits(readout).log_softmax(dim=1), state

    def attention_weights(
        self, tokens: Int[Tensor, "B T"], state: DecoderState, memory: Memory
    ) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""
        _, alignment = self.decoder(tokens, state, memory)
        return alignment.dense(memory.mask.shape[1])
