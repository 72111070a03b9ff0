"""The GRU by hand against its plain twin, PyTorch's own cells and finite differences."""

import pytest
import torch
from support.attention_cases import draw
from support.plain import gru_sequence as plain_gru_sequence
from support.plain import gru_step as plain_gru_step
from support.twins import LAYOUTS, assert_twins
from torch import nn

from nmt.fast.gru import gru_sequence, gru_step, gru_update

H = 3
EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


def step(rows):
    return [draw(rows, 3 * H, seed=1), draw(rows, H, seed=2), draw(3 * H, H, seed=3), draw(3 * H, seed=4)]


def sequence(steps, rows):
    return [draw(steps, rows, 3 * H, seed=1), draw(rows, H, seed=2), draw(3 * H, H, seed=3), draw(3 * H, seed=4)]


@EVERY_LAYOUT
@pytest.mark.parametrize("rows", [4, 1])
def test_a_step_is_its_plain_twins(layout, rows):
    assert_twins(gru_step, plain_gru_step, step(rows), LAYOUTS[layout])


@EVERY_LAYOUT
@pytest.mark.parametrize(("steps", "rows"), [(5, 4), (1, 4), (5, 1), (2, 2)])
def test_a_sequence_is_its_plain_twins(layout, steps, rows):
    assert_twins(gru_sequence, plain_gru_sequence, sequence(steps, rows), LAYOUTS[layout])


def test_no_rows_are_no_error():
    assert_twins(gru_step, plain_gru_step, step(0))
    assert_twins(gru_sequence, plain_gru_sequence, sequence(3, 0))


@EVERY_LAYOUT
@pytest.mark.parametrize(("function", "inputs"), [(gru_step, step(2)), (gru_sequence, sequence(3, 2))])
def test_gradients_are_those_of_finite_differences(layout, function, inputs):
    of = LAYOUTS[layout]
    inputs = [x.clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(lambda *leaves: of(function(*map(of, leaves))), inputs)


def test_it_is_pytorchs_gru():
    rnn = nn.GRU(5, H).double()
    inputs, hidden = draw(6, 4, 5), draw(4, H)
    gates = inputs @ rnn.weight_ih_l0.t() + rnn.bias_ih_l0
    states = gru_sequence(gates, hidden, rnn.weight_hh_l0, rnn.bias_hh_l0)
    torch.testing.assert_close(states, rnn(inputs, hidden.unsqueeze(0))[0], rtol=0, atol=1e-13)
    first = gru_step(gates[0], hidden, rnn.weight_hh_l0, rnn.bias_hh_l0)
    torch.testing.assert_close(first, states[0], rtol=0, atol=1e-13)


def test_an_update_without_a_gradient_is_the_step():
    gates, hidden, weight, bias = step(4)
    expected = plain_gru_step(gates, hidden, weight, bias)
    torch.testing.assert_close(gru_update(gates, hidden @ weight.t() + bias, hidden), expected, rtol=0, atol=1e-13)


def test_a_second_pass_gives_the_same_and_changes_no_input():
    for function, inputs in ((gru_step, step(4)), (gru_sequence, sequence(5, 4))):
        leaves = [x.clone().requires_grad_() for x in inputs]
        value = function(*leaves)
        before, of_value = value.detach().clone(), draw(*value.shape)
        first, second = (torch.autograd.grad(value, leaves, of_value, retain_graph=True) for _ in range(2))
        assert all(map(torch.equal, first, second))
        assert all(map(torch.equal, leaves, inputs))
        assert torch.equal(value, before)
        assert torch.equal(of_value, draw(*value.shape))
