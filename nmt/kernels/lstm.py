"""The LSTM: one step, and a whole sequence of them.

Its gradients are autograd's: written by hand, as the GRU's are, they took as long. What is fast about it are tanh
and the products, of which those with the recurrent weight have one gradient for all steps.

Shapes: N rows, B sentences, T steps, H state, G = 4H gates, in the order input, forget, candidate, output.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels.initial import LSTM_GATES, forgetting_nothing, glorot, orthogonal, zero
from nmt.kernels.linear import Linear, linear
from nmt.kernels.shared import for_all_uses, reused
from nmt.kernels.switch import fast
from nmt.kernels.tanh import tanh


class LSTMGates(Linear):
    """A linear layer that makes the inputs' part of an LSTM's gates; the first weight of each gate is Glorot's."""

    def __init__(self, inputs: int, hidden: int, bias: bool = True) -> None:
        super().__init__(inputs, LSTM_GATES * hidden, bias)

    def reset_parameters(self) -> None:
        glorot(self.weight, LSTM_GATES)
        if self.bias is not None:
            zero(self.bias)


class LSTMCell(nn.Module):
    """`torch.nn.LSTMCell`, which is given its inputs' part of the gates.

    Its first weights are orthogonal. The bias of the forget gate begins at 1 (Jozefowicz et al. 2015), the others at 0.
    """

    Gates = LSTMGates
    states: ClassVar[int] = 2  # of a layer: hidden, and the memory cell
    bounded: ClassVar[bool] = True  # a state lies between −1 and 1

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(LSTM_GATES * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(LSTM_GATES * hidden))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        orthogonal(self.weight, LSTM_GATES)
        forgetting_nothing(self.bias)

    def forward(
        self, gates: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"], cell: Float[Tensor, "N H"]
    ) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
        """The state and the memory cell after one step."""
        return lstm_update(gates, linear(hidden, for_all_uses(self.weight), self.bias), cell)

    def sequence(
        self, gates: Float[Tensor, "T B G"], hidden: Float[Tensor, "B H"], cell: Float[Tensor, "B H"]
    ) -> Float[Tensor, "T B H"]:
        """The states after each of T steps."""
        return lstm_sequence(gates, hidden, cell, self.weight, self.bias)


def lstm_update(
    inputs: Float[Tensor, "N G"], recurrent: Float[Tensor, "N G"], cell: Float[Tensor, "N H"]
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
    """The LSTM's new state and memory cell from the two halves of its gates: the equations of `torch.nn.LSTM`."""
    let_in, forget, candidate, output = (inputs + recurrent).chunk(LSTM_GATES, dim=1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(let_in) * tanh(candidate)
    return torch.sigmoid(output) * tanh(cell), cell


def lstm_sequence(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
    bias: Float[Tensor, " G"],
) -> Float[Tensor, "T B H"]:
    """The states after each of T steps: `gates` are the inputs' halves, `weight` and `bias` make the recurrent ones."""
    weight = reused(weight) if fast(weight) else weight
    states = []
    for step in gates.unbind(0):
        hidden, cell = lstm_update(step, linear(hidden, weight, bias), cell)
        states.append(hidden)
    return torch.stack(states)
