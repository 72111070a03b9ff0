"""What all recurrent decoders share; `nmt.model.wirings` says when attention is asked, and what its answer is for.

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

from nmt.kernels import Dropout, Linear
from nmt.kernels.tanh import tanh
from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.embedding import EmbeddingDropout
from nmt.model.encoder import Encoded
from nmt.model.recurrent import CELLS, Cell, RecurrentStack
from nmt.model.scopes.local import LocalScope
from nmt.text.vocabulary import BOS, PAD

# One (N, H) a layer, bottom first; of LSTMs one memory cell (N, H) a layer; the number t of steps done (N); with
# coverage the sum of the weights so far (N, S); with Luong's input feeding h̃ (N, H).
State: TypeAlias = tuple[Tensor, ...]


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

    projection: nn.Module | None  # of memory vectors

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Attention | FixedContext,
        sizes: DecoderSizes,
        output_inputs: int,
    ) -> None:
        super().__init__()
        kind = CELLS[sizes.cell]
        self.sizes = sizes
        self.layers, self.states = sizes.layers, sizes.layers * kind.states
        self.embedding = embedding
        self.embedding_gates = kind.Gates(embedding.embedding_dim, sizes.hidden)
        self.attention = attention
        self.bridge = Linear(sizes.memory, self.states * sizes.hidden)
        self.rnn = RecurrentStack(sizes.cell, sizes.hidden, sizes.layers, sizes.dropout)
        self.output = Linear(output_inputs, embedding.num_embeddings)
        self.embedding_dropout = EmbeddingDropout(sizes.embedding_dropout, sizes.word_dropout)
        self.dropout = Dropout(sizes.dropout)
        self.register_module("projection", None)

    def prepare(self, encoded: Encoded, done: int | None = None) -> Memory:
        """The encoder's memory with its keys, projected once per sentence; its values, too, if this is `projecting`.

        In training, `done` are the updates done.
        """
        memory = self.attention.prepare(encoded, done)
        return memory if self.projection is None else memory._replace(values=self.projection(memory.values))

    def initial_state(self, encoded: Encoded) -> State:
        """tanh(W_s [→h; ←h]) of the encoder's final states for each layer, and for each memory cell of LSTMs.

        Bahdanau et al. 2015, A.2.2 use ←h alone; the forward half is what a decoder without attention lives on.
        """
        hidden = tanh(self.bridge(encoded.final)).chunk(self.states, dim=1)
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
    def projecting(self) -> Decoder:
        """The same decoder, which computes of each memory vector what it otherwise computes of each context.

        A context is a weighted sum of memory vectors, so a linear layer may be applied to these before they are summed.
        That is less work for a beam, whose hypotheses have more steps than their sentence has positions. It is the
        decoder itself if a context is something else, or if each query has a memory of its own, which would grow.
        """

    @property
    def can_project(self) -> bool:
        """Whether a context is a sum of a sentence's own memory vectors, which are the same for all queries."""
        attention = self.attention
        return isinstance(attention, FixedContext) or (
            attention.heads is None and not isinstance(attention.scope, LocalScope)
        )

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
