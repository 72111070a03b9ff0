"""When attention is asked: before the RNN step (Bahdanau's decoder, or one without attention), or after it (Luong's).

Shapes: B sentences, N = B·K rows for K hypotheses of each, T target positions, E embedding, H decoder state, M memory
vector, G gates, I inputs of a step, R readout, F features.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels import Linear
from nmt.kernels.packed import with_child, with_weights
from nmt.kernels.tanh import tanh
from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.decoder import Decoder, DecoderSizes, State
from nmt.model.encoder import Encoded
from nmt.model.recurrent import CELLS

Readout: TypeAlias = Literal["tanh", "linear", "maxout"]


class BahdanauDecoder(Decoder):
    """Attention before the RNN step, queried by the previous state (Bahdanau et al. 2015, section 3.1 and A.2).

    c_t = attend(s_{t−1});  s_t = GRU([E y_{t−1}; c_t], s_{t−1});  readout r = [s_t; c_t; E y_{t−1}]. The output layer
    reads tanh(W_o r + b_o); with `maxout` of A.2.2 the larger one of each two neighbours in W_o r + b_o, of twice the
    size; with `linear`, as tutorials have it, r itself. In A.2.2 it is s_{i−1} that is read; here it is s_t, as in the
    paper's equation 4.
    """

    embedded_readout: nn.Module | None

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Attention | FixedContext,
        sizes: DecoderSizes,
        readout: Readout = "tanh",
    ) -> None:
        joined = sizes.hidden + sizes.context + embedding.embedding_dim
        super().__init__(embedding, attention, sizes, output_inputs=joined if readout == "linear" else sizes.readout)
        self.context_gates = CELLS[sizes.cell].Gates(sizes.context, sizes.hidden, bias=False)
        self.kind = readout
        self.output.bounded = readout == "tanh"
        if readout != "linear":
            self.readout = Linear(joined, sizes.readout * (2 if readout == "maxout" else 1))
        self.register_module("embedded_readout", None)

    def projecting(self) -> Decoder:
        """Memory vectors v become [C v; W_o' v], with the gates' weights C of a context; an embedding is read as
        W_o'' E y + b_o."""
        if not self.can_project or self.kind == "linear":
            return self
        gates, (hidden, context) = self.context_gates, (self.sizes.hidden, self.sizes.context)
        of_hidden, of_context, of_embedded = self.readout.weight.tensor_split([hidden, hidden + context], dim=1)
        children = {
            "projection": with_weights(gates, torch.cat([gates.get_parameter("weight"), of_context])),
            "readout": with_weights(self.readout, of_hidden, bounded=True),
            "embedded_readout": with_weights(self.readout, of_embedded, self.readout.bias),
        }
        other: Decoder = self
        for name, child in children.items():
            other = with_child(other, name, child)
        return other

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        embedded = self.embedding_dropout(self.embedding(tokens))
        read = embedded if self.embedded_readout is None else self.embedded_readout(embedded)
        return torch.cat([self.embedding_gates(embedded), read], dim=-1)

    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Alignment]:
        gates, of_token = inputs.tensor_split([self.embedding_gates.out_features], dim=1)
        hidden, past = state[: self.states], state[self.states :]
        context, alignment, past = self.attend(self.top(hidden), memory, past)
        if self.projection is None:
            hidden = self.rnn(gates + self.context_gates(context), hidden)
            return torch.cat([self.top(hidden), context, of_token], dim=1), (*hidden, *past), alignment
        of_gates, read = context.tensor_split([gates.shape[1]], dim=1)
        hidden = self.rnn(gates + of_gates, hidden)
        return torch.cat([self.top(hidden), read + of_token], dim=1), (*hidden, *past), alignment

    def query(self, before: State, after: State) -> Float[Tensor, "N H"]:
        return self.top(before)

    def summary(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        if self.kind == "linear":
            return readouts
        if self.projection is None:
            read = self.readout(readouts)
        else:
            hidden, rest = readouts.tensor_split([self.sizes.hidden], dim=-1)
            read = self.readout(hidden) + rest
        return tanh(read) if self.kind == "tanh" else read.unflatten(-1, (-1, 2)).amax(dim=-1)


class LuongDecoder(Decoder):
    """Attention after the RNN step, queried by the new state (Luong et al. 2015, section 3).

    h_t = GRU([E y_{t−1}; h̃_{t−1}], h_{t−1}) with input feeding (section 3.3), GRU(E y_{t−1}, h_{t−1}) without;
    c_t = attend(h_t);  readout h̃_t = tanh(W_c [c_t; h_t]) (equation 5).
    With input feeding the state's last tensor is h̃.
    """

    def __init__(
        self, embedding: nn.Embedding, attention: Attention | FixedContext, sizes: DecoderSizes, *, input_feeding: bool
    ) -> None:
        super().__init__(embedding, attention, sizes, output_inputs=sizes.hidden)
        gates = CELLS[sizes.cell].Gates
        self.feed_gates = gates(sizes.hidden, sizes.hidden, bias=False) if input_feeding else None
        self.combine = Linear(sizes.context + sizes.hidden, sizes.hidden, bias=False)
        self.output.bounded = True
        if self.feed_gates is not None:
            self.feed_gates.bounded = True

    def projecting(self) -> Decoder:
        """Its memory vectors v become W_c' v, of W_c = [W_c', W_c'']."""
        if not self.can_project:
            return self
        of_context, of_hidden = self.combine.weight.tensor_split([self.sizes.context], dim=1)
        other = with_child(self, "projection", with_weights(self.combine, of_context))
        return with_child(other, "combine", with_weights(self.combine, of_hidden, bounded=True))

    def initial_state(self, encoded: Encoded) -> State:
        state = super().initial_state(encoded)
        return state if self.feed_gates is None else (*state, torch.zeros_like(state[0]))

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        return self.embedding_gates(self.embedding_dropout(self.embedding(tokens)))

    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Alignment]:
        if self.feed_gates is not None:
            *rest, fed = state
            state, inputs = tuple(rest), inputs + self.feed_gates(fed)
        hidden, past = self.rnn(inputs, state[: self.states]), state[self.states :]
        context, alignment, past = self.attend(self.top(hidden), memory, past)
        attentional = self.attentional(context, self.top(hidden))
        state = (*hidden, *past)
        return attentional, state if self.feed_gates is None else (*state, attentional), alignment

    def attentional(self, context: Float[Tensor, "*N M"], hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N H"]:
        """h̃ = tanh(W_c [c; h])."""
        if self.projection is not None:
            return tanh(self.combine(hidden) + context)
        return tanh(self.combine(torch.cat([context, hidden], dim=-1)))

    def query(self, before: State, after: State) -> Float[Tensor, "N H"]:
        return self.top(after)

    def summary(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        return readouts

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: State,
        memory: Memory,
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Alignment]:
        """As `Decoder.forward`. Where nothing that attention gives is fed back, one attention answers all of T."""
        if self.feed_gates is not None or self.attention.coverage or use_reference is not None:
            return super().forward(tokens, state, memory, use_reference)
        queries = self.rnn.sequence(self.embed(tokens), state[: self.states])
        t = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        context, alignment = self.attention(queries, memory, t)
        return self.attentional(context, queries), alignment
