"""Recurrent cells, the GRU and the LSTM, and stacks of them: what encoder and decoders run on.

A cell is given the input's share of its gates, W x + b, which `Gates` computes: for a whole target sequence at once
where the inputs are known beforehand.

Shapes: N rows, B sentences, T steps, H state, G gates: 3H of a GRU, 4H of an LSTM.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.encoder import BidirectionalGRU, BidirectionalLSTM
from nmt.model.layers import Linear, open_forget_gates, orthogonal


class Gates(Linear):
    """The input's share of a cell's gates. The first weight of each gate is Glorot's."""

    def __init__(self, cell: type[Cell], inputs: int, hidden: int, bias: bool = True) -> None:
        self.matrices = cell.gates
        super().__init__(inputs, cell.gates * hidden, bias)


class Cell(nn.Module, ABC):
    """A recurrence, called as `Cell(hidden)` with H.

    The class docstring begins with the formula and, in parentheses, its paper: the documents show both.
    """

    name: ClassVar[str]  # in configs
    gates: ClassVar[int]  # G / H
    states: ClassVar[int]  # vectors of size H that a layer's state begins from; the first is the hidden state
    bidirectional: ClassVar[Callable[..., nn.Module]]  # makes the encoder's layers: see `encoder.Bidirectional`

    @abstractmethod
    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        """The state after one step; `inputs` is the input's share of the gates."""

    def initial(self, *vectors: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        """The state that begins from these vectors; the first of its tensors is the hidden state."""
        return vectors

    def sequence(self, inputs: Float[Tensor, "T B G"], *state: Float[Tensor, "B H"]) -> Float[Tensor, "T B H"]:
        """The hidden states after each of T steps."""
        hidden = []
        for step in inputs.unbind(0):
            state = self(step, *state)
            hidden.append(state[0])
        return torch.stack(hidden)


class GatedCell(Cell):
    """A cell with `weight` (G H) and `bias` (G) of its recurrent gates. Each gate's first weight is orthogonal."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(self.gates * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(self.gates * hidden))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        orthogonal(self.weight, self.gates)
        nn.init.zeros_(self.bias)

    def recurrent(self, hidden: Float[Tensor, "N H"]) -> Float[Tensor, "N G"]:
        """The state's share of the gates, U h + b."""
        return F.linear(hidden, self.weight, self.bias)


class GRUCell(GatedCell):
    """r, z = σ(W x + U h); n = tanh(W_n x + r ∘ (U_n h + b_n)); h' = (1 − z) ∘ n + z ∘ h (Cho et al. 2014).

    As `torch.nn.GRUCell` computes it: gates in the order reset, update, candidate.
    """

    name, gates, states = "gru", 3, 1
    bidirectional = BidirectionalGRU

    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        (hidden,) = state
        sizes = [2 * hidden.shape[1], hidden.shape[1]]
        input_rz, input_n = inputs.split(sizes, dim=1)
        recurrent_rz, recurrent_n = self.recurrent(hidden).split(sizes, dim=1)
        reset, update = torch.sigmoid(input_rz + recurrent_rz).chunk(2, dim=1)
        candidate = torch.tanh(input_n + reset * recurrent_n)
        return (candidate + update * (hidden - candidate),)


class LSTMCell(GatedCell):
    """i, f, g, o = W x + U h; c' = σ(f) ∘ c + σ(i) ∘ tanh(g); h' = σ(o) ∘ tanh(c') (Gers et al. 2000).

    As `torch.nn.LSTMCell` computes it, gates in this order. The forget gate's bias begins at 1, the others at 0.
    """

    name, gates, states = "lstm", 4, 2  # the hidden state, and the memory cell
    bidirectional = BidirectionalLSTM

    def reset_parameters(self) -> None:
        super().reset_parameters()
        open_forget_gates(self.bias)

    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        return lstm_update(inputs + self.recurrent(state[0]), state[1])


def lstm_update(gates: Float[Tensor, "N G"], cell: Float[Tensor, "N H"]) -> tuple[Tensor, Tensor]:
    """The LSTM's new hidden state and memory cell from the sum of both shares of its gates."""
    input_gate, forget, candidate, output = gates.chunk(4, dim=1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
    return torch.sigmoid(output) * torch.tanh(cell), cell


class RecurrentStack(nn.Module):
    """Layers of cells that take one step. The caller computes the input's share of the first layer's gates.

    A state is the layers' hidden states (N H), bottom first, then, of LSTMs, the layers' memory cells.
    """

    def __init__(self, cell: type[Cell], hidden_size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.upper = nn.ModuleList(Gates(cell, hidden_size, hidden_size) for _ in range(layers - 1))
        self.recurrent = nn.ModuleList(cell(hidden_size) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def initial(self, vectors: tuple[Float[Tensor, "N H"], ...]) -> tuple[Tensor, ...]:
        """The state that begins from the layers' vectors: one of each layer, bottom first, then the next of each."""
        count = len(self.recurrent)
        states = (cell.initial(*vectors[layer::count]) for layer, cell in enumerate(self.recurrent))  # type: ignore[operator]
        return tuple(tensor for tensors in zip(*states, strict=True) for tensor in tensors)

    def top(self, state: tuple[Tensor, ...]) -> Float[Tensor, "N H"]:
        """The top layer's hidden state: attention's query, and what the output is computed from."""
        return state[len(self.recurrent) - 1]

    def forward(self, inputs: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The state after one step."""
        layers, new = len(self.recurrent), list(state)
        for layer, cell in enumerate(self.recurrent):
            if layer:
                inputs = self.upper[layer - 1](self.dropout(new[layer - 1]))
            new[layer::layers] = cell(inputs, *state[layer::layers])
        return tuple(new)

    def sequence(self, inputs: Float[Tensor, "B T G"], state: tuple[Tensor, ...]) -> Float[Tensor, "B T H"]:
        """The top layer's states after each of T steps, whose inputs are all known beforehand."""
        layers, outputs = len(self.recurrent), inputs.transpose(0, 1)
        for layer, cell in enumerate(self.recurrent):
            if layer:
                outputs = self.upper[layer - 1](self.dropout(outputs))
            outputs = cell.sequence(outputs, *state[layer::layers])  # type: ignore[operator]  # nn.ModuleList
        return outputs.transpose(0, 1)
