"""The encoder's layers of any cell: both directions over padded sentences.

Shapes: B sentences, S source positions, E embedding, I inputs of a layer, H state of a direction, M = 2H.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.cells import Cell, Gates
from nmt.system.errors import UserError


class Bidirectional(nn.Module):
    """As `nmt.model.encoder.Bidirectional`, by `Cell.sequence`; `dropout` is the rate between layers.

    The backward direction runs from left to right over sentences that are reversed within their own length: so the
    padding is at the end, where it reaches nothing that is kept.
    """

    def __init__(self, cell: type[Cell], inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [inputs, *[2 * hidden] * (layers - 1)]
        self.rightward = nn.ModuleList(Direction(cell, size, hidden) for size in sizes)
        self.leftward = nn.ModuleList(Direction(cell, size, hidden) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """The top layer's states [→h_s; ←h_s], 0 at padding, and the final ones: →h at the last position, ←h at 0."""
        lengths = lengths.to(inputs.device)
        positions = torch.arange(inputs.shape[1], device=inputs.device).unsqueeze(1)
        inside = positions < lengths
        mirrored = torch.where(inside, lengths - 1 - positions, positions)
        outputs = inputs.transpose(0, 1)
        for layer, directions in enumerate(zip(self.rightward, self.leftward, strict=True)):
            read = self.dropout(outputs) if layer else outputs
            forward, backward = directions[0](read), at(directions[1](at(read, mirrored)), mirrored)
            outputs = torch.cat([forward, backward], dim=2)
        final = torch.cat([at(forward, (lengths - 1).unsqueeze(0))[0], backward[0]], dim=1)
        return (outputs * inside.unsqueeze(2)).transpose(0, 1), final


class VariantCell(Cell):
    """A cell whose encoder's layers are these."""

    @classmethod
    def bidirectional(cls, inputs: int, hidden: int, layers: int, dropout: float) -> nn.Module:
        return Bidirectional(cls, inputs, hidden, layers, dropout)


class Direction(nn.Module):
    """A layer in one direction, from a state of zeros."""

    def __init__(self, cell: type[Cell], inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = Gates(cell, inputs, hidden)
        self.cell = cell(hidden)
        self.hidden, self.states = hidden, cell.states

    def forward(self, inputs: Float[Tensor, "S B I"]) -> Float[Tensor, "S B H"]:
        if torch.onnx.is_in_onnx_export() and type(self.cell).sequence is Cell.sequence:
            raise UserError(f"the cell {self.cell.name} cannot be exported: its `sequence` loops over the steps")
        zeros = inputs.new_zeros(inputs.shape[1], self.hidden)
        states: Tensor = self.cell.sequence(self.gates(inputs), *self.cell.initial(*[zeros] * self.states))
        return states


def at(vectors: Float[Tensor, "S B I"], positions: Int[Tensor, "P B"]) -> Float[Tensor, "P B I"]:
    """Each sentence's vectors at positions of its own."""
    return vectors.gather(0, positions.unsqueeze(2).expand(-1, -1, vectors.shape[2]))
