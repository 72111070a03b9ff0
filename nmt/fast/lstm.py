"""The LSTM on a CPU: products by the fast kernels, and one gradient of the recurrent weight for all steps.

Shapes: N rows, B sentences, T steps, H state, G = 4H gates, in the order input, forget, candidate, output.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.fast.layers import linear
from nmt.fast.shared_gradients import reused
from nmt.model.cells import lstm_update


def lstm_sequence(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
    bias: Float[Tensor, " G"],
) -> Float[Tensor, "T B H"]:
    """The hidden states after each of T steps: `gates` is the inputs' share, `weight` and `bias` make the states'."""
    weight = reused(weight)
    states = []
    for step in gates.unbind(0):
        hidden, cell = lstm_update(step + linear(hidden, weight, bias), cell)
        states.append(hidden)
    return torch.stack(states)
