"""Products of bfloat16 factors: a weight is rounded once an update, whatever the number of steps."""

import pytest
import torch
import torch.nn.functional as F
from support.attention_cases import draw
from support.twins import Made

from nmt.fast import products
from nmt.fast.modules import FastGRUCell, reused_weights
from nmt.fast.output_loss import output_loss, padded_output_loss
from nmt.fast.products import linear, multiply, products_in, weight_gradient
from nmt.fast.recurrent import gru_sequence

CLOSE = {"rtol": 2**-8, "atol": 2**-8}


def product(left, right):
    return left.bfloat16().double() @ right.bfloat16().double()


@pytest.mark.parametrize("steps", [2, 20])
def test_a_weight_is_rounded_once_for_both_directions(steps):
    cell = FastGRUCell(24)
    hidden = draw(5, 24).float()
    with products_in("bf16"), Made() as made, reused_weights(cell):
        for _ in range(steps):
            (hidden,) = cell(draw(5, 72).float(), hidden)
        hidden.sum().backward()
    weights = [(torch.bfloat16, 72, 24), (torch.bfloat16, 24, 72)]
    assert sum(map(made.conversions.count, weights)) == 1
    assert cell.weight.grad is not None


def test_factors_are_rounded_and_a_changed_weight_anew_in_the_next_block():
    rows, weight = draw(5, 24).float(), draw(7, 24, seed=1).float()
    for _ in range(2):
        with products_in("bf16"):
            for rounded in (multiply(rows, weight.t()), linear(rows, weight)):
                torch.testing.assert_close(rounded.double(), product(rows, weight.t()), **CLOSE)
                assert not torch.equal(rounded, F.linear(rows, weight))
        weight.mul_(2)


@pytest.mark.parametrize("onednn", [False, True])
def test_a_backward_pass_may_come_after_the_block(onednn, monkeypatch):
    monkeypatch.setattr(products, "prefers_onednn", lambda: onednn)
    leaves = [draw(*shape).float().requires_grad_() for shape in ((4, 5, 72), (5, 24), (72, 24), (72,))]
    with products_in("bf16"):
        states = gru_sequence(*leaves)
        within = torch.autograd.grad(states.sum(), leaves, retain_graph=True)
    for one, other in zip(within, torch.autograd.grad(states.sum(), leaves), strict=True):
        assert (one - other).norm() <= 0.02 * one.norm()


@pytest.mark.parametrize("rows", [3, 64, 256, 300, 700])
def test_gradients_of_a_weight_at_any_number_of_rows(rows):
    inputs, gradients = draw(rows, 24).float(), draw(rows, 7, seed=1).float()
    with products_in("bf16"):
        torch.testing.assert_close(weight_gradient(inputs, gradients).double(), product(gradients.t(), inputs), **CLOSE)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1.0, 300.0])  # with the latter some probabilities are 0
@pytest.mark.parametrize("count", [None, 6.0])
def test_the_output_layer_s_loss_in_bfloat16(smoothing, scale, count):
    features, weight, bias = draw(40, 8).float() * scale, draw(30, 8, seed=1).float(), draw(30, seed=2).float()
    targets = torch.arange(40) % (30 if count is None else 20)
    counts = None if count is None else torch.tensor([1.0] * 20 + [count] * 10)
    results = []
    for function, precision in ((padded_output_loss, "float32"), (output_loss, "bf16")):
        leaves = [x.bfloat16().float().requires_grad_() for x in (features, weight, bias)]
        with products_in(precision):
            loss = function(*leaves, targets, smoothing, counts=counts)
            loss.smoothed.backward()
        results.append([loss.smoothed, loss.nll, *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        assert (one - other).norm() <= 0.01 * one.norm()
