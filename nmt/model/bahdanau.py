"""Bahdanau's decoder: attention before the recurrent step, queried by the previous state.

Shapes: N rows, E embedding, H decoder state, M memory vector, G gates, I = G + E inputs of a step, R readout,
F features.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.attention import Attention, FixedContext, Memory
from nmt.model.cells import Gates
from nmt.model.decoder import Decoder, DecoderSizes, DecoderState, StepResult
from nmt.model.layers import Linear

Readout: TypeAlias = Literal["tanh", "linear", "maxout"]


class BahdanauDecoder(Decoder):
    """Bahdanau et al. 2015, section 3.1 and A.2; with a `FixedContext` the decoder without attention.

    c_t = attend(s_{t−1});  s_t = GRU([E y_{t−1}; c_t], s_{t−1});  readout r = [s_t; c_t; E y_{t−1}]. The output layer
    multiplies tanh(W_o r + b_o); with `maxout` (A.2.2) the larger one of each two adjacent values in W_o r + b_o, of
    twice the size; with `linear`, as tutorials have it, r itself. A.2.2 reads s_{i−1}; here it is s_t, as in the
    paper's equation 4.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Attention | FixedContext,
        sizes: DecoderSizes,
        readout: Readout = "tanh",
    ) -> None:
        joined = sizes.hidden + sizes.context + embedding.embedding_dim
        super().__init__(embedding, attention, sizes, output_inputs=joined if readout == "linear" else sizes.readout)
        self.context_gates = Gates(sizes.cell, sizes.context, sizes.hidden, bias=False)
        self.kind = readout
        if readout != "linear":
            self.readout = Linear(joined, sizes.readout * (2 if readout == "maxout" else 1))

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        embedded = self.embedding_dropout(self.embedding(tokens))
        return torch.cat([self.embedding_gates(embedded), embedded], dim=-1)

    def step(self, inputs: Float[Tensor, "N I"], state: DecoderState, memory: Memory) -> StepResult:
        gates, embedded = inputs.tensor_split([self.embedding_gates.out_features], dim=1)
        context, state, alignment = self.attend(self.rnn.top(state.hidden), state, memory)
        hidden = self.rnn(gates + self.context_gates(context), state.hidden)
        return torch.cat([self.rnn.top(hidden), context, embedded], dim=1), state._replace(hidden=hidden), alignment

    def read(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        match self.kind:
            case "linear":
                return readouts
            case "maxout":
                return self.readout(readouts).unflatten(-1, (-1, 2)).amax(dim=-1)
            case "tanh":
                return torch.tanh(self.readout(readouts))
