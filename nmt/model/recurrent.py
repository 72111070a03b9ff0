"""Layers of GRU or LSTM cells that take one step: what both decoders run on.

Shapes: N rows, B sentences, T steps, H state, G gates.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels import BidirectionalGRU, BidirectionalLSTM, Dropout, GRUCell, LSTMCell

Cell: TypeAlias = Literal["gru", "lstm"]

CELLS: dict[Cell, type[GRUCell] | type[LSTMCell]] = {"gru": GRUCell, "lstm": LSTMCell}
BIDIRECTIONAL: dict[Cell, type[BidirectionalGRU] | type[BidirectionalLSTM]] = {
    "gru": BidirectionalGRU,
    "lstm": BidirectionalLSTM,
}


class RecurrentStack(nn.Module):
    """Layers of cells that take one step. What enters the first layer's gates is computed by the caller.

    A state is the layers' states (N H), bottom first, and behind them, of LSTMs, the layers' memory cells.
    """

    def __init__(self, cell: Cell, hidden_size: int, layers: int, dropout: float) -> None:
        super().__init__()
        kind = CELLS[cell]
        upper = [kind.Gates(hidden_size, hidden_size) for _ in range(layers - 1)]
        for gates in upper:
            gates.bounded = True
        self.upper = nn.ModuleList(upper)
        self.recurrent = nn.ModuleList(kind(hidden_size) for _ in range(layers))
        self.dropout = Dropout(dropout)

    def forward(self, gates: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The new state from the old one and the first layer's input gates."""
        layers, new = len(self.recurrent), list(state)
        for layer, cell in enumerate(self.recurrent):
            if layer:
                gates = self.upper[layer - 1](self.dropout(new[layer - 1]))
            new[layer::layers] = cell(gates, *state[layer::layers])
        return tuple(new)

    def sequence(self, gates: Float[Tensor, "B T G"], state: tuple[Tensor, ...]) -> Float[Tensor, "B T H"]:
        """The top layer's states after each of T steps, whose input gates are all known."""
        layers, outputs = len(self.recurrent), gates.transpose(0, 1)
        for layer, cell in enumerate(self.recurrent):
            if layer:
                outputs = self.upper[layer - 1](self.dropout(outputs))
            outputs = cell.sequence(outputs, *state[layer::layers])  # type: ignore[operator]  # nn.ModuleList forgets
        return outputs.transpose(0, 1)
