"""Residual connections and layer normalisation between the layers of deep stacks.

A layer's output is its hidden state h, plus, from the second layer on and with `residual`, the output of the layer
below (Wu et al. 2016, section 3.1, equation 6); with `layer_norm` that sum is normalised (Ba et al. 2016). Outputs are
what the layer above reads, and the top one what attention and the output layer read. States stay as they are.

Shapes: B sentences, S source positions, T target positions, N rows, E embedding, I inputs, H state, G gates, M = 2H.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.cells import Cell, RecurrentStack
from nmt.variants.bidirectional import Direction, at


class Outputs(nn.Module):
    """The layers' outputs from their hidden states, of `size` values each."""

    def __init__(self, size: int, layers: int, residual: bool, layer_norm: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(layers if layer_norm else 0))
        self.residual = residual

    def forward(self, layer: int, hidden: Float[Tensor, "*N I"], below: Tensor) -> Float[Tensor, "*N I"]:
        """Of one layer, counted from 0; `below` is the output of the layer below it."""
        output = hidden + below if layer and self.residual else hidden
        normalised: Tensor = self.norms[layer](output) if self.norms else output
        return normalised


class DeepStack(RecurrentStack):
    """A decoder's stack with these outputs. It takes the layers of a plain one."""

    def __init__(self, plain: RecurrentStack, hidden: int, residual: bool, layer_norm: bool) -> None:
        nn.Module.__init__(self)
        self.upper, self.recurrent, self.dropout = plain.upper, plain.recurrent, plain.dropout
        self.outputs = Outputs(hidden, len(plain.recurrent), residual, layer_norm)

    def top(self, state: tuple[Tensor, ...]) -> Float[Tensor, "N H"]:
        output = state[0]
        for layer in range(len(self.recurrent)):
            output = self.outputs(layer, state[layer], output)
        return output

    def forward(self, inputs: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        layers, new, output = len(self.recurrent), list(state), state[0]
        for layer, cell in enumerate(self.recurrent):
            if layer:
                inputs = self.upper[layer - 1](self.dropout(output))
            new[layer::layers] = cell(inputs, *state[layer::layers])
            output = self.outputs(layer, new[layer], output)
        return tuple(new)

    def sequence(self, inputs: Float[Tensor, "B T G"], state: tuple[Tensor, ...]) -> Float[Tensor, "B T H"]:
        layers, gates, output = len(self.recurrent), inputs.transpose(0, 1), inputs
        for layer, cell in enumerate(self.recurrent):
            if layer:
                gates = self.upper[layer - 1](self.dropout(output))
            hidden = cell.sequence(gates, *state[layer::layers])  # type: ignore[operator]  # nn.ModuleList
            output = self.outputs(layer, hidden, output)
        return output.transpose(0, 1)


class Rightward(nn.Module):
    """A layer that reads padded sentences from left to right."""

    def __init__(self, cell: type[Cell], inputs: int, size: int) -> None:
        super().__init__()
        self.direction = Direction(cell, inputs, size)

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        states = self.direction(inputs.transpose(0, 1))
        final = at(states, (lengths.to(inputs.device) - 1).unsqueeze(0))[0]
        return states.transpose(0, 1), final


class DeepBidirectional(nn.Module):
    """As `nmt.model.encoder.Bidirectional`, a module per layer, with these outputs; 0 at padding.

    The lowest `bidirectional_layers` read in both directions, those above, of size 2H, from left to right. With one it
    is the encoder of Wu et al. 2016, section 3.2.
    """

    def __init__(
        self,
        cell: type[Cell],
        inputs: int,
        hidden: int,
        layers: int,
        dropout: float,
        *,
        bidirectional_layers: int | None = None,
        residual: bool = False,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        sizes, lowest = [inputs, *[2 * hidden] * (layers - 1)], bidirectional_layers or layers
        self.layers = nn.ModuleList(cell.bidirectional(size, hidden, 1, 0.0) for size in sizes[:lowest])
        self.layers.extend(Rightward(cell, size, 2 * hidden) for size in sizes[lowest:])
        self.outputs = Outputs(2 * hidden, layers, residual, layer_norm)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """The top layer's outputs, and its final states: →h at the last position, ←h at the first."""
        inside = (torch.arange(inputs.shape[1], device=inputs.device).unsqueeze(1) < lengths.to(inputs.device)).T
        output = inputs
        for layer, rnn in enumerate(self.layers):
            states, final = rnn(self.dropout(output) if layer else output, lengths)
            output = self.outputs(layer, states, output)
        return output * inside.unsqueeze(2), final
