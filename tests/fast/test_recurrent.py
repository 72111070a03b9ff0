"""GRU and LSTM by hand against PyTorch's own."""

import pytest
import torch
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_all_close, assert_twins
from torch import nn

from nmt.fast.recurrent import gru_sequence, gru_update, lstm_sequence

H, INPUTS = 3, 5


def pytorchs_gru(gates, hidden, weight, bias):
    """Its input's share of the gates is the input itself."""
    identity, states = torch.eye(3 * H).to(gates), []
    for step in gates:
        hidden = torch.gru_cell(step, hidden, identity, weight, torch.zeros_like(bias), bias)
        states.append(hidden)
    return torch.stack(states)


def inputs(*sizes):
    """Gates of the sizes, the last of which is the number of rows, a state, a weight and a bias."""
    return [draw(*sizes, 3 * H), draw(sizes[-1], H, seed=2), draw(3 * H, H, seed=3), draw(3 * H, seed=4)]


@pytest.mark.parametrize(
    ("sizes", "layout"),
    [*all_pairs([(1, 4), (1, 1), (5, 4), (5, 1), (2, 2)], LAYOUTS), ((1, 0), "plain"), ((3, 0), "plain")],
    ids=str,
)
def test_steps_and_sequences_are_pytorchs(sizes, layout):
    assert_twins(gru_sequence, pytorchs_gru, inputs(*sizes), LAYOUTS[layout])


def test_a_second_pass_gives_the_same_and_changes_no_input():
    leaves = [x.requires_grad_() for x in inputs(5, 4)]
    value = gru_sequence(*leaves)
    before, of_value = value.detach().clone(), draw(*value.shape)
    first, second = (torch.autograd.grad(value, leaves, of_value, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    assert all(map(torch.equal, leaves, inputs(5, 4)))
    assert torch.equal(value, before)
    assert torch.equal(of_value, draw(*value.shape))
    gates, hidden, weight, bias = (x.detach() for x in leaves)
    assert_all_close([gru_update(gates[0], hidden @ weight.t() + bias, hidden)], [before[0]])


@pytest.mark.parametrize(("steps", "rows"), [(5, 4), (1, 4), (5, 1)])
def test_it_is_pytorchs_lstm(steps, rows):
    rnn = nn.LSTM(INPUTS, H).double()
    values, hidden, cell = draw(steps, rows, INPUTS), draw(rows, H, seed=2), draw(rows, H, seed=3)
    leaves = [x.requires_grad_() for x in (values, hidden, cell, *rnn.parameters())]
    expected, _ = rnn(values, (hidden.unsqueeze(0), cell.unsqueeze(0)))
    gates = values @ rnn.weight_ih_l0.t() + rnn.bias_ih_l0
    states = lstm_sequence(gates, hidden, cell, rnn.weight_hh_l0, rnn.bias_hh_l0)
    assert_all_close([states], [expected])
    assert_all_close(*(torch.autograd.grad(x, leaves, draw(*expected.shape, seed=4)) for x in (states, expected)))
