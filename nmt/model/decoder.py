"""The recurrent decoders: Bahdanau's (attention before the RNN step), Luong's (after it), and one without attention.

Training, scoring, greedy and beam search all run the same `step`. Whatever is computed per sentence travels in a
`Memory` and in a state, a tuple of batch-first tensors that a beam reorders by rows; modules hold parameters only.

Shapes: B sentences, K hypotheses of each (1 in training), N = B·K rows, T target positions, V vocabulary, E embedding,
H decoder state, M memory vector, R readout, I inputs of a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels import Dropout, Linear
from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.embedding import EmbeddingDropout
from nmt.model.encoder import Encoded
from nmt.model.recurrent import CELLS, Cell, RecurrentStack
from nmt.text.vocabulary import BOS, PAD

# One (N, H) a layer, bottom first; of LSTMs one memory cell (N, H) a layer; the number t of steps done (N); with
# coverage the sum of the weights so far (N, S); with Luong's input feeding h̃ (N, H).
State: TypeAlias = tuple[Tensor, ...]
Readout: TypeAlias = Literal["tanh", "linear", "maxout"]


@dataclass(frozen=True)
class DecoderSizes:
    """What a decoder is made of."""

    memory: int  # M
    context: int  # of a context vector
    hidden: int  # H
    readout: int  # of Bahdanau's layer below the output layer
    layers: int
    embedding_dropout: float  # of an embedding's numbers
    word_dropout: float  # of whole embeddings
    dropout: float  # between layers, and before the output layer
    cell: Cell = "gru"


class Decoder(nn.Module, ABC):
    """What the wirings share: the embedding, the initial state, the layers, the output layer, the loop over T."""

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Attention | FixedContext,
        sizes: DecoderSizes,
        output_inputs: int,
    ) -> None:
        super().__init__()
        kind = CELLS[sizes.cell]
        self.layers, self.states = sizes.layers, sizes.layers * kind.states
        self.embedding = embedding
        self.embedding_gates = kind.Gates(embedding.embedding_dim, sizes.hidden)
        self.attention = attention
        self.bridge = Linear(sizes.memory, self.states * sizes.hidden)
        self.rnn = RecurrentStack(sizes.cell, sizes.hidden, sizes.layers, sizes.dropout)
        self.output = Linear(output_inputs, embedding.num_embeddings)
        self.embedding_dropout = EmbeddingDropout(sizes.embedding_dropout, sizes.word_dropout)
        self.dropout = Dropout(sizes.dropout)

    def prepare(self, encoded: Encoded, done: int | None = None) -> Memory:
        """The encoder's memory with its keys, projected once per sentence. In training, `done` are the updates done."""
        return self.attention.prepare(encoded, done)

    def initial_state(self, encoded: Encoded) -> State:
        """tanh(W_s [→h; ←h]) of the encoder's final states for each layer, and for each memory cell of LSTMs.

        Bahdanau et al. 2015, A.2.2 use ←h alone; the forward half is what a decoder without attention lives on.
        """
        hidden = torch.tanh(self.bridge(encoded.final)).chunk(self.states, dim=1)
        coverage = (torch.zeros_like(encoded.values[:, :, 0]),) if self.attention.coverage else ()
        return (*hidden, torch.zeros_like(encoded.lengths), *coverage)

    def top(self, state: State) -> Float[Tensor, "N H"]:
        """The top layer's state: the query, and what the output is made of."""
        return state[self.layers - 1]

    @abstractmethod
    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        """What `step` needs of the previous tokens: their share of the first layer's gates. Any number at once."""

    @abstractmethod
    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Alignment]:
        """One target position of N = B·K hypotheses: readout, new state, attention weights (N W).

        `inputs` is `embed(y_{t−1})`; the rows of a sentence's K hypotheses are neighbours.
        """

    @abstractmethod
    def query(self, before: State, after: State) -> Float[Tensor, "N H"]:
        """What a step from one state to the next asked its attention."""

    @abstractmethod
    def summary(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        """What the output layer reads of any number of readouts at once, without dropout."""

    def features(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        """What the output layer reads of any number of readouts at once."""
        return self.dropout(self.summary(readouts))

    def logits(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        """Unnormalised log-probabilities of the next token, for any number of readouts at once."""
        return self.output(self.features(readouts))

    @torch.no_grad()  # a choice among tokens has no gradient
    def best(self, readouts: Float[Tensor, "N R"]) -> Int[Tensor, " N"]:
        """The most likely next token, as greedy search takes it: without dropout of the output layer's input, and
        never PAD or BOS, which no target holds."""
        logits = self.output(self.summary(readouts))
        for never in (PAD, BOS):  # one by one: a list is copied to a GPU, which CUDA graphs cannot record
            logits[:, never] = -torch.inf
        return logits.argmax(dim=1)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: State,
        memory: Memory,
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Alignment]:
        """Run all of T: readouts and attention weights (B T W).

        `tokens` are the reference's, behind BOS. Where `use_reference` is False the model reads its own most likely
        last token instead (`best`; scheduled sampling, Bengio et al. 2015, section 2.4); at t = 0 it always reads BOS.
        """
        readouts: list[Tensor] = []
        alignments: list[Alignment] = []
        # Unbound, not sliced: the gradient is then stacked once, where slices would each add a tensor of full size.
        for t, inputs in enumerate(self.embed(tokens).unbind(1)):
            if use_reference is not None and t > 0:
                own = self.embed(self.best(readouts[-1]))
                inputs = torch.where(use_reference[:, t, None], inputs, own)
            readout, state, alignment = self.step(inputs, state, memory)
            readouts.append(readout)
            alignments.append(alignment)
        return torch.stack(readouts, dim=1), Alignment.stack(alignments)

    def attend(
        self, query: Float[Tensor, "N H"], memory: Memory, past: State
    ) -> tuple[Float[Tensor, "N M"], Alignment, State]:
        """Attention of N = B·K rows to the memory of B sentences: context, weights, and the past with this step in it.

        `past` is t and, with coverage, the sum of the weights so far: the state's part that belongs to the attention.
        """
        query, t, *coverage = (x.view(memory.mask.shape[0], -1, *x.shape[1:]) for x in (query, *past))
        context, alignment = self.attention(query, memory, t, *coverage)
        past = tuple(x.flatten(0, 1) for x in (t + 1, *(alignment.added_to(c) for c in coverage)))
        return context.flatten(0, 1), alignment.flatten(), past


class BahdanauDecoder(Decoder):
    """Attention before the RNN step, queried by the previous state (Bahdanau et al. 2015, section 3.1 and A.2).

    c_t = attend(s_{t−1});  s_t = GRU([E y_{t−1}; c_t], s_{t−1});  readout r = [s_t; c_t; E y_{t−1}]. The output layer
    reads tanh(W_o r + b_o); with `maxout` of A.2.2 the larger one of each two neighbours in W_o r + b_o, of twice the
    size; with `linear`, as tutorials have it, r itself. In A.2.2 it is s_{i−1} that is read; here it is s_t, as in the
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
        self.context_gates = CELLS[sizes.cell].Gates(sizes.context, sizes.hidden, bias=False)
        self.kind = readout
        if readout != "linear":
            self.readout = Linear(joined, sizes.readout * (2 if readout == "maxout" else 1))

    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        embedded = self.embedding_dropout(self.embedding(tokens))
        return torch.cat([self.embedding_gates(embedded), embedded], dim=-1)

    def step(
        self, inputs: Float[Tensor, "N I"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Alignment]:
        gates, embedded = inputs.split([self.embedding_gates.out_features, self.embedding.embedding_dim], dim=1)
        hidden, past = state[: self.states], state[self.states :]
        context, alignment, past = self.attend(self.top(hidden), memory, past)
        hidden = self.rnn(gates + self.context_gates(context), hidden)
        return torch.cat([self.top(hidden), context, embedded], dim=1), (*hidden, *past), alignment

    def query(self, before: State, after: State) -> Float[Tensor, "N H"]:
        return self.top(before)

    def summary(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        match self.kind:
            case "tanh":
                return torch.tanh(self.readout(readouts))
            case "linear":
                return readouts
            case "maxout":
                return self.readout(readouts).unflatten(-1, (-1, 2)).amax(dim=-1)


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
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))

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
