"""A bidirectional GRU or LSTM with packed layers, for inference: in few bits its products take less time, too.

Shapes: B sentences, S source positions, E what it reads of each, H state of one direction, M = 2H, G gates.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.kernels.bidirectional import DIRECTIONS, WEIGHTS, BidirectionalGRU, BidirectionalLSTM, both_ways
from nmt.kernels.gru import gru_update
from nmt.kernels.lstm import lstm_update
from nmt.kernels.packed_layers import PackedLinear


class PackedBidirectional(nn.Module):
    """`BidirectionalGRU` or `BidirectionalLSTM`, step by step."""

    def __init__(self, rnn: BidirectionalGRU | BidirectionalLSTM, kind: type[PackedLinear]) -> None:
        super().__init__()
        self.rnn = rnn
        self.layers = nn.ModuleDict()
        for layer in range(rnn.num_layers):
            for direction in DIRECTIONS:
                of_inputs, of_states, bias, states_bias = (
                    rnn.get_parameter(f"{name}_l{layer}{direction}") for name in WEIGHTS
                )
                parts = _Part(of_inputs, bias, bounded=layer > 0), _Part(of_states, states_bias, bounded=True)
                self.layers[f"{layer}{direction}"] = nn.ModuleList(map(kind, parts))

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """As `BidirectionalGRU.forward`."""
        return both_ways(self._one_way, self.rnn.num_layers, inputs, lengths)

    def _one_way(self, layer: int, direction: str, read: Float[Tensor, "S B I"]) -> Float[Tensor, "S B H"]:
        of_inputs, of_states = self.layers[f"{layer}{direction}"].children()
        hidden = cell = read.new_zeros(read.shape[1], self.rnn.hidden_size)
        states = []
        for gates in of_inputs(read.flatten(0, 1)).view(*read.shape[:2], -1):
            if isinstance(self.rnn, nn.LSTM):
                hidden, cell = lstm_update(gates, of_states(hidden), cell)
            else:
                hidden = gru_update(gates, of_states(hidden), hidden)
            states.append(hidden)
        return torch.stack(states)


class _Part(nn.Module):
    """A layer as `PackedLinear` takes it."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, *, bounded: bool) -> None:
        super().__init__()
        self.weight, self.bias, self.bounded = weight, bias, bounded
