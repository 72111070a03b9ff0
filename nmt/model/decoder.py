"""The recurrent decoders: Bahdanau's (attention before the RNN step), Luong's (after it), and one without attention.

Training, scoring, greedy and beam search all run the same `step`. Whatever is computed per sentence travels in a
`Memory` and in a state, a tuple of batch-first tensors that a beam reorders by rows; modules hold parameters only.

Shapes: B sentences, K hypotheses of each (1 in training), N = B·K rows, T target positions, V vocabulary, E embedding,
H decoder state, M memory vector, R readout, I inputs of a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.attention import Attention, FixedContext, Memory
from nmt.model.encoder import Encoded

State: TypeAlias = tuple[Tensor, ...]  # one (N, H) a layer, bottom first; Luong's input feeding adds h̃


def gru_update(
    inputs: Float[Tensor, "N G"], recurrent: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"]
) -> Float[Tensor, "N H"]:
    """The GRU's new state from the two halves of its gates, [r z n] each (G = 3H), as `torch.nn.GRU` defines it."""
    size = hidden.shape[1]
    input_rz, input_n = inputs.split([2 * size, size], dim=1)
    recurrent_rz, recurrent_n = recurrent.split([2 * size, size], dim=1)
    reset, update = torch.sigmoid(input_rz + recurrent_rz).chunk(2, dim=1)
    candidate = torch.tanh(torch.addcmul(input_n, reset, recurrent_n))
    return torch.lerp(candidate, hidden, update)


class GRUStack(nn.Module):
    """Layers of GRU cells that take one step. What enters the first layer's gates is computed by the caller."""

    def __init__(self, hidden_size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.upper = nn.ModuleList(nn.Linear(hidden_size, 3 * hidden_size) for _ in range(layers - 1))
        self.recurrent = nn.ModuleList(nn.Linear(hidden_size, 3 * hidden_size) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, gates: Float[Tensor, "N G"], hidden: State) -> State:
        """The new states, one a layer, from the old ones and the first layer's input gates."""
        new: list[Tensor] = []
        for layer, (recurrent, old) in enumerate(zip(self.recurrent, hidden, strict=True)):
            if layer:
                gates = self.upper[layer - 1](self.dropout(new[-1]))
            new.append(gru_update(gates, recurrent(old), old))
        return tuple(new)


@dataclass(frozen=True)
class DecoderSizes:
    """M, H, the number of layers, and the dropout rates: of the embedding; between layers and before the output."""

    memory: int
    hidden: int
    layers: int
    embedding_dropout: float
    dropout: float


class Decoder(nn.Module, ABC):
    """What the wirings share: the embedding, the initial state, the GRU layers, the output layer, the loop over T."""

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Attention | FixedContext,
        sizes: DecoderSizes,
        readout_size: int,
    ) -> None:
        super().__init__()
        self.layers = sizes.layers
        self.embedding = embedding
        self.embedding_gates = nn.Linear(embedding.embedding_dim, 3 * sizes.hidden)
        self.attention = attention
        self.bridge = nn.Linear(sizes.memory, sizes.layers * sizes.hidden)
        self.rnn = GRUStack(sizes.hidden, sizes.layers, sizes.dropout)
        self.output = nn.Linear(readout_size, embedding.num_embeddings)
        self.embedding_dropout = nn.Dropout(sizes.embedding_dropout)
        self.dropout = nn.Dropout(sizes.dropout)

    def prepare(self, encoded: Encoded) -> Memory:
        """The encoder's memory with its keys, projected once per sentence."""
        return self.attention.prepare(encoded)

    def initial_state(self, encoded: Encoded) -> State:
        """tanh(W_s [→h; ←h]) of the encoder's final states for each layer.

        Bahdanau et al. 2015, A.2.2 use ←h alone; the forward half is what a decoder without attention lives on.
        """
        return torch.tanh(self.bridge(encoded.final)).chunk(self.layers, dim=1)

    @abstractmethod
    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        """What `step` needs of the last tokens: their share of the first layer's gates. Any number at once."""

    @abstractmethod
    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One target position of N = B·K hypotheses: readout, new state, attention weights.

        `inputs` is `embed(y_{t−1})`; the rows of a sentence's K hypotheses are neighbours.
        """

    @abstractmethod
    def logits(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        """Unnormalised log-probabilities of the next token, for any number of readouts at once."""

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: State,
        memory: Memory,
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Float[Tensor, "B T S"]]:
        """Run all of T: readouts and attention weights.

        `tokens` are the reference's, behind BOS. Where `use_reference` is False the model reads its own most likely
        last token instead (scheduled sampling, Bengio et al. 2015, section 2.4); at t = 0 it always reads BOS.
        """
        readouts: list[Tensor] = []
        weights: list[Tensor] = []
        # Unbound, not sliced: the gradient is then stacked once, where slices would each add a tensor of full size.
        for t, inputs in enumerate(self.embed(tokens).unbind(1)):
            if use_reference is not None and t > 0:
                with torch.no_grad():  # a choice among tokens has no gradient
                    last = self.logits(readouts[-1]).argmax(dim=1)
                own = self.embed(last)
                inputs = torch.where(use_reference[:, t, None], inputs, own)
            readout, state, weight = self.step(inputs, state, memory)
            readouts.append(readout)
            weights.append(weight)
        return torch.stack(readouts, dim=1), torch.stack(weights, dim=1)

    def attend(self, query: Float[Tensor, "N H"], memory: Memory) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Attention of N = B·K rows to the memory of B sentences: context and weights."""
        context, weights = self.attention(query.view(len(memory.values), -1, query.shape[1]), memory)
        return context.flatten(0, 1), weights.flatten(0, 1)


class BahdanauDecoder(Decoder):
    """Attention before the RNN step, queried by the previous state (Bahdanau et al. 2015, section 3.1 and A.2).

    c_t = attend(s_{t−1});  s_t = GRU([E y_{t−1}; c_t], s_{t−1});  readout [s_t; c_t; E y_{t−1}], whose hidden layer
    tanh(W_o ·) has the embedding's size (the paper's is a maxout layer over the same three).
    """

    def __init__(self, embedding: nn.Embedding, attention: Attention | FixedContext, sizes: DecoderSizes) -> None:
        super().__init__(embedding, attention, sizes, readout_size=embedding.embedding_dim)
        self.context_gates = nn.Linear(sizes.memory, 3 * sizes.hidden, bias=False)
        self.readout = nn.Linear(sizes.hidden + sizes.memory + embedding.embedding_dim, embedding.embedding_dim)

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        embedded = self.embedding_dropout(self.embedding(tokens))
        return torch.cat([self.embedding_gates(embedded), embedded], dim=-1)

    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        gates, embedded = inputs.split([self.embedding_gates.out_features, self.embedding.embedding_dim], dim=1)
        context, weights = self.attend(state[-1], memory)
        state = self.rnn(gates + self.context_gates(context), state)
        return torch.cat([state[-1], context, embedded], dim=1), state, weights

    def logits(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        return self.output(self.dropout(torch.tanh(self.readout(readouts))))


class LuongDecoder(Decoder):
    """Attention after the RNN step, queried by the new state (Luong et al. 2015, section 3).

    h_t = GRU([E y_{t−1}; h̃_{t−1}], h_{t−1}) with input feeding (section 3.3), GRU(E y_{t−1}, h_{t−1}) without;
    c_t = attend(h_t);  readout h̃_t = tanh(W_c [c_t; h_t]) (equation 5).
    With input feeding the state's last tensor is h̃.
    """

    def __init__(
        self, embedding: nn.Embedding, attention: Attention | FixedContext, sizes: DecoderSizes, *, input_feeding: bool
    ) -> None:
        super().__init__(embedding, attention, sizes, readout_size=sizes.hidden)
        self.feed_gates = nn.Linear(sizes.hidden, 3 * sizes.hidden, bias=False) if input_feeding else None
        self.combine = nn.Linear(sizes.memory + sizes.hidden, sizes.hidden, bias=False)

    def initial_state(self, encoded: Encoded) -> State:
        state = super().initial_state(encoded)
        return state if self.feed_gates is None else (*state, torch.zeros_like(state[-1]))

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        return self.embedding_gates(self.embedding_dropout(self.embedding(tokens)))

    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        if self.feed_gates is not None:
            *hidden, fed = state
            state, inputs = tuple(hidden), inputs + self.feed_gates(fed)
        state = self.rnn(inputs, state)
        context, weights = self.attend(state[-1], memory)
        attentional = self.attentional(context, state[-1])
        return attentional, state if self.feed_gates is None else (*state, attentional), weights

    def attentional(self, context: Float[Tensor, "*N M"], hidden: Float[Tensor, "*N H"]) -> Float[Tensor, "*N H"]:
        """h̃ = tanh(W_c [c; h])."""
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))

    def logits(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        return self.output(self.dropout(readouts))

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: State,
        memory: Memory,
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Float[Tensor, "B T S"]]:
        """As `Decoder.forward`. Nothing feeds back without input feeding, so then one attention answers all of T."""
        if self.feed_gates is not None or use_reference is not None:
            return super().forward(tokens, state, memory, use_reference)
        hidden: list[Tensor] = []
        for inputs in self.embed(tokens).unbind(1):
            state = self.rnn(inputs, state)
            hidden.append(state[-1])
        queries = torch.stack(hidden, dim=1)
        context, weights = self.attention(queries, memory)
        return self.attentional(context, queries), weights
