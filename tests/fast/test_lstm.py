"""The LSTM's step and its sequence against PyTorch's: values and gradients."""

import pytest
import torch
from support.attention_cases import draw
from torch import nn

from nmt.fast.lstm import lstm_sequence
from nmt.model.cells import LSTMCell, lstm_update

H, INPUTS = 3, 5


@pytest.mark.parametrize(("steps", "rows"), [(5, 4), (1, 4), (5, 1)])
def test_it_is_pytorchs_lstm(steps, rows):
    rnn = nn.LSTM(INPUTS, H).double()
    inputs, hidden, cell = draw(steps, rows, INPUTS), draw(rows, H, seed=2), draw(rows, H, seed=3)
    leaves = [inputs, hidden, cell, *rnn.parameters()]
    for leaf in leaves:
        leaf.requires_grad_()
    expected, _ = rnn(inputs, (hidden.unsqueeze(0), cell.unsqueeze(0)))
    of_states = draw(*expected.shape, seed=4)
    gates = inputs @ rnn.weight_ih_l0.t() + rnn.bias_ih_l0
    states = lstm_sequence(gates, hidden, cell, rnn.weight_hh_l0, rnn.bias_hh_l0)
    first, _ = lstm_update(gates[0] + hidden @ rnn.weight_hh_l0.t() + rnn.bias_hh_l0, cell)
    found = torch.autograd.grad(states, leaves, of_states)
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(first, expected[0], rtol=0, atol=1e-13)
    for one, other in zip(found, torch.autograd.grad(expected, leaves, of_states), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_forget_gates_begin_open():
    bias = LSTMCell(H).bias.detach()
    assert torch.equal(bias, torch.tensor([0.0] * H + [1.0] * H + [0.0] * 2 * H))
