"""A GRU that is deep within a step, as in the BiDeep stacks of Miceli Barone et al. 2017."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.model.cells import GRUCell
from nmt.variants.bidirectional import VariantCell


class DeepGRUCell(VariantCell):
    """h' = GRU₂(0, GRU₁(x, h)), two transitions in a step (Miceli Barone et al. 2017).

    Only the first transition reads the input. In a stack of several layers this is BiDeep.
    """

    name, gates, states = "deep_gru", GRUCell.gates, 1

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.first, self.second = GRUCell(hidden), GRUCell(hidden)

    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        return self.second(torch.zeros_like(inputs), *self.first(inputs, *state))
