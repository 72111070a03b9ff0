"""Tensors that are used many times: their gradient against autograd's own sum, and what it leaves and takes."""

import pytest
import torch
import torch.nn.functional as F
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.plain import additive_scores as plain_additive_scores
from support.plain import gather_windows as plain_gather_windows
from support.tiny_models import randomise
from support.twins import Made, assert_all_close
from torch import nn

from nmt.fast import attention, products, shared_gradients
from nmt.fast.attention import additive_scores, gather_windows, inner_products, weighted_sums
from nmt.fast.modules import FastLinear, reused_weights
from nmt.fast.products import linear, weight_gradient
from nmt.fast.shared_gradients import reused

B, N, S, X, T = 3, 2, 7, 4, 2
V = draw(X, seed=3)


def at_positions(gather):
    """A selection at positions that are made of values."""
    return lambda memory, x: gather(memory, (1000 * x.abs()).long() % S)


LINEAR = lambda w, x: linear(x, w), lambda w, x: F.linear(x, w)
GATHER = at_positions(gather_windows), at_positions(plain_gather_windows)
INNER = lambda m, x: inner_products(x, m), lambda m, x: x @ m.mT
WEIGHTED = lambda m, x: weighted_sums(x, m), lambda m, x: x @ m
ADDITIVE = lambda m, x: additive_scores(x, m, V), lambda m, x: plain_additive_scores(x, m, V)
# What a tensor is used with, by hand and as autograd computes it; the tensor's size, and that of its other factor.
USES = {
    "linear": (*LINEAR, (5, X), (T, X)),
    "gather": (*GATHER, (B, S, X), (B, T, 5)),
    "gather heads": (*GATHER, (B, N, S, X), (B, N, T, 5)),
    "gather for all heads": (*GATHER, (B, N, S, X), (B, 1, T, 5)),
    "inner_products": (*INNER, (B, S, X), (B, T, X)),
    "inner_products one": (*INNER, (B, S, X), (B, 1, X)),
    "weighted_sums heads": (*WEIGHTED, (B, N, S, X), (B, N, 1, S)),
    "additive_scores": (*ADDITIVE, (B, S, X), (B, T, X)),
}
EVERY_USE = pytest.mark.parametrize("use", USES)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(shared_gradients, "TOGETHER", 3)
    monkeypatch.setattr(attention, "CHUNK", S * X)


class Case:
    """A tensor 2·origin that is used several times, and otherwise too."""

    def __init__(self, use, count=4):
        self.by_hand, self.plain, size, other = USES[use]
        self.origin = draw(*size).requires_grad_()
        self.others = [draw(*other, seed=10 + i).requires_grad_("gather" not in use) for i in range(count)]

    def leaves(self):
        return [x for x in (self.origin, *self.others) if x.requires_grad]

    def used(self, tensor, function):
        return sum((function(tensor, x) ** 2).sum() for x in self.others)

    def by_autograd(self, direct=False):
        tensor = 2 * self.origin
        total = self.used(tensor, self.plain) + ((tensor**3).sum() if direct else 0)
        return torch.autograd.grad(total, self.leaves())


@pytest.mark.parametrize(("use", "count", "direct"), all_pairs(USES, [1, 2, 3, 8], [True, False]), ids=str)
def test_the_gradient_is_the_sum_over_all_uses_in_every_pass(use, count, direct):
    case = Case(use, count)
    tensor = reused(2 * case.origin)
    total = case.used(tensor, case.by_hand) + ((tensor**3).sum() if direct else 0)
    first, second = (torch.autograd.grad(total, case.leaves(), retain_graph=True) for _ in range(2))
    assert_all_close(first, case.by_autograd(direct))
    assert all(map(torch.equal, first, second))
    unshared = case.used(2 * case.origin, case.by_hand)
    assert_all_close(torch.autograd.grad(unshared, case.leaves()), case.by_autograd())


@EVERY_USE
def test_a_pass_that_ends_before_the_tensors_node_leaves_nothing_behind(use):
    case = Case(use)
    tensor = reused(2 * case.origin)
    total, direct = case.used(tensor, case.by_hand), (tensor**3).sum()
    (of_direct,) = torch.autograd.grad(direct, case.origin, retain_graph=True)
    assert torch.autograd.grad(total, tensor, allow_unused=True, retain_graph=True) == (None,)
    assert_all_close(torch.autograd.grad(direct, case.origin, retain_graph=True), [of_direct])
    assert torch.autograd.grad(total, tensor, allow_unused=True, retain_graph=True) == (None,)
    assert_all_close(torch.autograd.grad(total + direct, case.leaves()), case.by_autograd(direct=True))


@EVERY_USE
def test_no_use_makes_a_gradient_of_the_tensors_size(use):
    made = []
    for count in (6, 12):
        case = Case(use, count)
        tensor = reused(2 * case.origin)
        total = case.used(tensor, case.by_hand)
        with Made() as backward:
            torch.autograd.grad(total, case.leaves())
        made.append(backward.count(tensor.numel()))
    assert made[0] > 0
    # One product of every three uses, or one sum of all
    assert made[1] - made[0] == (0 if use.startswith(("gather", "additive")) else 2)


def test_a_shared_tensor_lies_in_one_piece_and_needs_a_gradient():
    origin = draw(B, S, X).requires_grad_()
    tensor = reused(origin.mT)
    assert tensor.is_contiguous()
    assert torch.equal(tensor, origin.mT)
    assert torch.equal(*torch.autograd.grad((tensor**2).sum(), origin), 2 * origin)
    assert reused(tensor) is tensor
    assert reused(origin.detach()).grad_fn is None
    with torch.no_grad():
        assert reused(origin) is origin
        assert reused(origin.mT).is_contiguous()


class Steps(nn.Module):
    """Two layers that are used at every step, one of them otherwise too, and one layer that is used once."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = FastLinear(4, 3), FastLinear(3, 4, bias=False), FastLinear(4, 2)

    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(self.second(torch.tanh(self.first(x)))) * self.first.weight.sum(dim=0)
        return self.last(x)


def test_a_module_s_weights_have_one_product_each_and_if_frozen_none(monkeypatch):
    steps, shapes = Steps().double(), []
    randomise(steps)
    weights = [parameter for name, parameter in steps.named_parameters() if name != "last.weight"]

    def count(*matrices):
        shapes.append(matrices[0].shape)
        return weight_gradient(*matrices)

    expected = torch.autograd.grad((steps(draw(6, 4)) ** 2).sum(), weights)
    steps.last.weight.requires_grad_(False)
    with reused_weights(steps):
        total = (steps(draw(6, 4)) ** 2).sum()
    monkeypatch.setattr(products, "weight_gradient", count)
    total.backward()
    assert_all_close([weight.grad for weight in weights], expected)
    assert sorted(shapes) == [(18, 3), (18, 4)]
    assert steps.last.weight.grad is None
