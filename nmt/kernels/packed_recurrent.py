"""Cells, and a bidirectional GRU or LSTM, with packed layers: for inference.

Shapes: N rows, B sentences, S source positions, T target positions, E what is read of a source position, H state of one
direction, M = 2H, G gates.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.kernels.bidirectional import DIRECTIONS, WEIGHTS, BidirectionalGRU, BidirectionalLSTM, both_ways
from nmt.kernels.gru import GRUCell, gru_sequence, gru_update
from nmt.kernels.lstm import LSTMCell, lstm_sequence, lstm_update
from nmt.kernels.packed_layers import PackedLinear


class PackedGRUCell(nn.Module):
    """A `GRUCell` with a packed layer for its recurrent gates."""

    states: ClassVar[int] = GRUCell.states

    def __init__(self, recurrent: PackedLinear) -> None:
        super().__init__()
        self.recurrent = recurrent

    def forward(self, gates: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"]) -> tuple[Float[Tensor, "N H"]]:
        return (gru_update(gates, self.recurrent(hidden), hidden),)

    def sequence(self, gates: Float[Tensor, "T B G"], hidden: Float[Tensor, "B H"]) -> Float[Tensor, "T B H"]:
        """As `GRUCell.sequence`, in float32. Search uses it once, to find all attention weights."""
        return gru_sequence(gates, hidden, self.recurrent.weight, self.recurrent.bias)


class PackedLSTMCell(nn.Module):
    """The same of an `LSTMCell`."""

    states: ClassVar[int] = LSTMCell.states

    def __init__(self, recurrent: PackedLinear) -> None:
        super().__init__()
        self.recurrent = recurrent

    def forward(
        self, gates: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"], cell: Float[Tensor, "N H"]
    ) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
        return lstm_update(gates, self.recurrent(hidden), cell)

    def sequence(
        self, gates: Float[Tensor, "T B G"], hidden: Float[Tensor, "B H"], cell: Float[Tensor, "B H"]
    ) -> Float[Tensor, "T B H"]:
        return lstm_sequence(gates, hidden, cell, self.recurrent.weight, self.recurrent.bias)


class PackedBidirectional(nn.Module):
    """`BidirectionalGRU` or `BidirectionalLSTM`, step by step. In 8 bits that is the fastest form."""

    def __init__(self, rnn: BidirectionalGRU | BidirectionalLSTM, kind: type[PackedLinear]) -> None:
        super().__init__()
        self.rnn = rnn
        cell = PackedLSTMCell if isinstance(rnn, nn.LSTM) else PackedGRUCell
        self.states = cell.states
        self.layers = nn.ModuleDict()
        for layer in range(rnn.num_layers):
            for direction in DIRECTIONS:
                of_inputs, of_states, bias, states_bias = (
                    rnn.get_parameter(f"{name}_l{layer}{direction}") for name in WEIGHTS
                )
                gates = kind(_Layer(of_inputs, bias, bounded=layer > 0))
                recurrent = kind(_Layer(of_states, states_bias, bounded=True))
                self.layers[f"{layer}{direction}"] = nn.ModuleList([gates, cell(recurrent)])

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """As `BidirectionalGRU.forward`."""
        return both_ways(self._one_way, self.rnn.num_layers, inputs, lengths)

    def _one_way(self, layer: int, direction: str, read: Float[Tensor, "S B I"]) -> Float[Tensor, "S B H"]:
        gates, cell = self.layers[f"{layer}{direction}"].children()
        state = (read.new_zeros(read.shape[1], self.rnn.hidden_size),) * self.states
        hidden = []
        for step in gates(read.flatten(0, 1)).view(*read.shape[:2], -1):
            state = cell(step, *state)
            hidden.append(state[0])
        return torch.stack(hidden)


class _Layer(nn.Module):
    """A layer as `PackedLinear` takes it."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, *, bounded: bool) -> None:
        super().__init__()
        self.weight, self.bias, self.bounded = weight, bias, bounded
