"""Luong's decoder: attention after the recurrent step, queried by the new state.

Shapes: B sentences, N rows, T target positions, H decoder state, M memory vector, I = G gates, R = F = H.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.cells import Gates
from nmt.model.decoder import Decoder, DecoderSizes, DecoderState, StepResult
from nmt.model.encoder import Encoded
from nmt.model.layers import Linear


class LuongDecoder(Decoder):
    """Luong et al. 2015, section 3.

    h_t = GRU([E y_{t−1}; h̃_{t−1}], h_{t−1}) with input feeding (section 3.3), GRU(E y_{t−1}, h_{t−1}) without;
    c_t = attend(h_t);  readout h̃_t = tanh(W_c [c_t; h_t]) (equation 5).
    """

    def __init__(
        self, embedding: nn.Embedding, attention: Attention | FixedContext, sizes: DecoderSizes, *, input_feeding: bool
    ) -> None:
        super().__init__(embedding, attention, sizes, output_inputs=sizes.hidden)
        self.feed_gates = Gates(sizes.cell, sizes.hidden, sizes.hidden, bias=False) if input_feeding else None
        self.combine = Linear(sizes.context + sizes.hidden, sizes.hidden, bias=False)

    def initial_state(self, encoded: Encoded) -> DecoderState:
        state = super().initial_state(encoded)
        return state if self.feed_gates is None else state._replace(attentional=torch.zeros_like(state.hidden[0]))

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        return self.embedding_gates(self.embedding_dropout(self.embedding(tokens)))

    def step(self, inputs: Float[Tensor, "N I"], state: DecoderState, memory: Memory) -> StepResult:
        if self.feed_gates is not None:
            inputs = inputs + self.feed_gates(state.attentional)
        hidden = self.rnn(inputs, state.hidden)
        context, state, alignment = self.attend(self.rnn.top(hidden), state, memory)
        attentional = self.attentional(context, self.rnn.top(hidden))
        state = state._replace(hidden=hidden, attentional=None if self.feed_gates is None else attentional)
        return attentional, state, alignment

    def attentional(self, context: Float[Tensor, "*N M"], hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N H"]:
        """h̃ = tanh(W_c [c; h])."""
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))

    def read(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        return readouts

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: DecoderState,
        memory: Memory,
        teacher_forcing_mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Alignment]:
        """As `Decoder.forward`. Where nothing that attention gives is fed back, one attention answers all of T."""
        if self.feed_gates is not None or self.attention.coverage or teacher_forcing_mask is not None:
            return super().forward(tokens, state, memory, teacher_forcing_mask)
        queries = self.rnn.sequence(self.embed(tokens), state.hidden)
        t = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        context, alignment = self.attention(queries, memory, t)
        return self.attentional(context, queries), alignment
