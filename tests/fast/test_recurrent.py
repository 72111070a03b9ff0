"""GRU and LSTM by hand against their plain twins, PyTorch's own and finite differences."""

import pytest
import torch
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.plain import gru_sequence as plain_gru_sequence
from support.plain import gru_step as plain_gru_step
from support.twins import LAYOUTS, assert_all_close, assert_twins
from torch import nn

from nmt.fast.recurrent import gru_sequence, gru_update, lstm_sequence

H, INPUTS = 3, 5


def gru_step(gates, *arguments):
    return gru_sequence(gates.unsqueeze(0), *arguments).squeeze(0)


GRU = {"step": (gru_step, plain_gru_step), "sequence": (gru_sequence, plain_gru_sequence)}


def inputs(*sizes):
    """Gates of the sizes, the last of which is the number of rows, a state, a weight and a bias."""
    return [draw(*sizes, 3 * H), draw(sizes[-1], H, seed=2), draw(3 * H, H, seed=3), draw(3 * H, seed=4)]


@pytest.mark.parametrize(
    ("sizes", "layout"),
    [*all_pairs([(4,), (1,), (5, 4), (1, 4), (5, 1), (2, 2)], LAYOUTS), ((0,), "plain"), ((3, 0), "plain")],
    ids=str,
)
def test_steps_and_sequences_are_their_plain_twins(sizes, layout):
    assert_twins(*GRU["step" if len(sizes) == 1 else "sequence"], inputs(*sizes), LAYOUTS[layout])


def test_it_is_pytorchs_gru():
    rnn = nn.GRU(INPUTS, H).double()
    values, hidden = draw(6, 4, INPUTS), draw(4, H)
    gates = values @ rnn.weight_ih_l0.t() + rnn.bias_ih_l0
    states = gru_sequence(gates, hidden, rnn.weight_hh_l0, rnn.bias_hh_l0)
    first = gru_step(gates[0], hidden, rnn.weight_hh_l0, rnn.bias_hh_l0)
    recurrent = (hidden @ rnn.weight_hh_l0.t() + rnn.bias_hh_l0).detach()
    assert_all_close([states], [rnn(values, hidden.unsqueeze(0))[0]])
    assert_all_close([first, gru_update(gates[0].detach(), recurrent, hidden)], [states[0]] * 2)


def test_a_second_pass_gives_the_same_and_changes_no_input():
    for (function, _), sizes in zip(GRU.values(), ((4,), (5, 4)), strict=True):
        leaves = [x.requires_grad_() for x in inputs(*sizes)]
        value = function(*leaves)
        before, of_value = value.detach().clone(), draw(*value.shape)
        first, second = (torch.autograd.grad(value, leaves, of_value, retain_graph=True) for _ in range(2))
        assert all(map(torch.equal, first, second))
        assert all(map(torch.equal, leaves, inputs(*sizes)))
        assert torch.equal(value, before)
        assert torch.equal(of_value, draw(*value.shape))


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
