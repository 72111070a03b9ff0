"""What all recurrent decoders share; `bahdanau.py` and `luong.py` say when attention is computed.

Training, scoring, greedy and beam search all run the same `step`. What is computed per sentence is in a `Memory`, what
changes from step to step in a `DecoderState`, whose rows a beam reorders. Modules hold parameters only.

Shapes: B sentences, K hypotheses of each (1 in training), N = B·K rows, T target positions, V vocabulary, E embedding,
H decoder state, M memory vector, R readout, I inputs of a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.cells import Cell, Gates, GRUCell, RecurrentStack
from nmt.model.encoder import Encoded
from nmt.model.layers import Linear
from nmt.model.special_tokens import BOS, PAD


class DecoderState(NamedTuple):
    """What a step leaves to the next one, for N rows."""

    hidden: tuple[Tensor, ...]  # (N H) of each layer, bottom first; then, of LSTMs, (N H) of each layer's memory cells
    t: Int[Tensor, " N"]  # the number of steps taken
    coverage: Float[Tensor, "N S"] | None = None  # the sum of the attention weights so far, for a score with coverage
    attentional: Float[Tensor, "N H"] | None = None  # h̃ of the step before, with Luong's input feeding


StepResult: TypeAlias = tuple[Float[Tensor, "N R"], DecoderState, Alignment]


@dataclass(frozen=True)
class DecoderSizes:
    """What a decoder is built with."""

    memory: int  # M
    context: int  # of a context vector
    hidden: int  # H
    readout: int  # of Bahdanau's layer below the output layer
    layers: int
    embedding_dropout: float  # of an embedding's values
    dropout: float  # between layers, and before the output layer
    cell: type[Cell] = GRUCell


class Decoder(nn.Module, ABC):
    """What the wirings share: the embedding, the initial state, the layers, the output layer, the loop over T."""

    def __init__(
        self, embedding: nn.Embedding, attention: Attention | FixedContext, sizes: DecoderSizes, output_inputs: int
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = embedding
        self.embedding_gates = Gates(sizes.cell, embedding.embedding_dim, sizes.hidden)
        self.attention = attention
        self.bridge = Linear(sizes.memory, sizes.layers * sizes.cell.states * sizes.hidden)
        self.rnn = RecurrentStack(sizes.cell, sizes.hidden, sizes.layers, sizes.dropout)
        self.output = Linear(output_inputs, embedding.num_embeddings)
        self.embedding_dropout = nn.Dropout(sizes.embedding_dropout)
        self.dropout = nn.Dropout(sizes.dropout)

    def prepare(self, encoded: Encoded) -> Memory:
        """The encoder's memory with its keys, projected once per sentence."""
        return self.attention.prepare(encoded)

    def initial_state(self, encoded: Encoded) -> DecoderState:
        """The state that begins from tanh(W_s [→h; ←h]) of the encoder's final states.

        Bahdanau et al. 2015, A.2.2 use ←h alone; a decoder without attention needs →h, too.
        """
        hidden = self.rnn.initial(torch.tanh(self.bridge(encoded.final)).split(self.sizes.hidden, dim=1))
        coverage = torch.zeros_like(encoded.values[:, :, 0]) if self.attention.coverage else None
        return DecoderState(hidden, torch.zeros_like(encoded.lengths), coverage)

    @abstractmethod
    def embed(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N I"]:
        """What `step` needs of the previous tokens: their share of the first layer's gates. Any number at once."""

    @abstractmethod
    def step(self, inputs: Float[Tensor, "N I"], state: DecoderState, memory: Memory) -> StepResult:
        """One target position of N = B·K hypotheses: readout, new state, attention weights (N W).

        `inputs` is `embed(y_{t−1})`; the K rows of a sentence are adjacent.
        """

    @abstractmethod
    def read(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        """What the output layer multiplies, of any number of readouts at once, without dropout."""

    def features(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N F"]:
        """What the output layer multiplies, of any number of readouts at once."""
        return self.dropout(self.read(readouts))

    def logits(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        """Unnormalised log-probabilities of the next token, for any number of readouts at once."""
        return self.output(self.features(readouts))

    @torch.no_grad()  # an argmax has no gradient
    def best(self, readouts: Float[Tensor, "N R"]) -> Int[Tensor, " N"]:
        """The most likely next token, as greedy search takes it: without dropout of the output layer's input, and
        never PAD or BOS, which no target contains."""
        logits = self.output(self.read(readouts))
        for token in (PAD, BOS):  # one by one: a list is copied to a GPU, which a CUDA graph cannot capture
            logits[:, token] = -torch.inf
        return logits.argmax(dim=1)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: DecoderState,
        memory: Memory,
        teacher_forcing_mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Alignment]:
        """Run all of T: readouts and attention weights (B T W).

        `tokens` are the reference's, behind BOS. Where `teacher_forcing_mask` is False the model reads its own most
        likely last token instead (scheduled sampling, Bengio et al. 2015, section 2.4); at t = 0 it always reads BOS.
        """
        readouts: list[Tensor] = []
        alignments: list[Alignment] = []
        # Unbound, not sliced: the gradient is then stacked once, where slices would each add a tensor of full size.
        for t, inputs in enumerate(self.embed(tokens).unbind(1)):
            if teacher_forcing_mask is not None and t > 0:
                predicted = self.embed(self.best(readouts[-1]))
                inputs = torch.where(teacher_forcing_mask[:, t, None], inputs, predicted)
            readout, state, alignment = self.step(inputs, state, memory)
            readouts.append(readout)
            alignments.append(alignment)
        return torch.stack(readouts, dim=1), Alignment.stack(alignments)

    def attend(
        self, query: Float[Tensor, "N H"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "N M"], DecoderState, Alignment]:
        """Attention of N = B·K rows to the memory of B sentences: the context, the state with t and coverage after
        this step, and the weights."""
        sentences = memory.mask.shape[0]
        query, t = query.view(sentences, -1, query.shape[1]), state.t.view(sentences, -1)
        if state.coverage is None:
            context, alignment = self.attention(query, memory, t)
        else:
            coverage = state.coverage.view(sentences, -1, state.coverage.shape[1])
            context, alignment = self.attention(query, memory, t, coverage)
            state = state._replace(coverage=alignment.added_to(coverage).flatten(0, 1))
        return context.flatten(0, 1), state._replace(t=state.t + 1), alignment.flatten()
