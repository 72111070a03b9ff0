"""The gradient of a weight that a module's layers use many times, against autograd's own sum."""

import gc

import pytest
import torch
from support.attention_cases import draw
from support.tiny_models import randomise
from support.twins import Made, assert_all_close
from torch import nn

from nmt.fast import products
from nmt.fast.modules import FastLinear, reused_weights
from nmt.fast.products import weight_gradient


def call(module, *arguments):
    """The module's value, with one gradient for all uses of each weight."""
    with reused_weights(module):
        return module(*arguments)


class Steps(nn.Module):
    """Two layers that are used at every step, one of them otherwise too, and one layer that is used once."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = FastLinear(4, 3), FastLinear(3, 4, bias=False), FastLinear(4, 2)

    def forward(self, x, direct=True):
        for _ in range(3):
            x = torch.tanh(self.second(torch.tanh(self.first(x))))
            if direct:
                x = x * self.first.weight.sum(dim=0)
        return self.last(x)


@pytest.fixture
def steps():
    module = Steps().double()
    randomise(module)
    return module


def gradients(total, of, **options):
    """By the parameters of a module."""
    return torch.autograd.grad(total, list(of.parameters()), allow_unused=True, **options)


@pytest.fixture
def expected(steps):
    """`expected(*arguments)`: value and gradients of its square's sum by autograd alone."""

    def by_autograd(*arguments):
        value = steps(*arguments)
        return value.detach(), gradients((value**2).sum(), steps)

    return by_autograd


@pytest.mark.parametrize(("rows", "direct"), [((6,), True), ((2, 3), False), ((1,), True)], ids=str)
def test_the_gradient_of_all_uses_is_their_sum_in_each_pass(steps, expected, direct, rows):
    value = call(steps, draw(*rows, 4), direct)
    expected_value, expected_gradients = expected(draw(*rows, 4), direct)
    assert_all_close([value], [expected_value])
    total = (value**2).sum()
    first, second = (gradients(total, steps, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    assert_all_close(first, expected_gradients)


def test_it_is_one_product_for_each_weight(steps, monkeypatch):
    shapes = []

    def count(*matrices):
        shapes.append(matrices[0].shape)
        return weight_gradient(*matrices)

    value = call(steps, draw(6, 4))
    monkeypatch.setattr(products, "weight_gradient", count)
    value.sum().backward()
    assert sorted(shapes) == [(6, 4), (18, 3), (18, 4)]


def test_a_pass_that_fails_halfway_leaves_nothing_behind(steps, expected):
    """The hook stands between the uses of a weight, some of which have been collected."""
    hooks = []

    def fail(_):
        raise RuntimeError("on the way")

    def watch(_layer, _inputs, output):
        if not hooks:  # the first of three steps: the last of them backward
            hooks.append(output.register_hook(fail))

    watcher = steps.second.register_forward_hook(watch)
    total = (call(steps, draw(6, 4)) ** 2).sum()
    watcher.remove()
    with pytest.raises(RuntimeError, match="on the way"):
        gradients(total, steps, retain_graph=True)
    hooks[0].remove()
    assert_all_close(gradients(total, steps), expected(draw(6, 4))[1])


@pytest.mark.parametrize("frozen", ["first", "last"])
def test_a_frozen_weight_has_no_gradient_and_the_others_add_theirs_up_over_batches(steps, expected, frozen):
    expected_gradients = [expected(draw(6, 4, seed=seed))[1] for seed in (1, 2)]
    getattr(steps, frozen).weight.requires_grad_(False)
    for seed in (1, 2):
        (call(steps, draw(6, 4, seed=seed)) ** 2).sum().backward()
    for (name, parameter), *parts in zip(steps.named_parameters(), *expected_gradients, strict=True):
        if name == f"{frozen}.weight":
            assert parameter.grad is None
        else:
            assert_all_close([parameter.grad], [sum(parts)])


class Unused(nn.Module):
    """A weight that no linear layer uses, one that nothing uses, and one that is an embedding's too."""

    def __init__(self):
        super().__init__()
        self.otherwise, self.never, self.output = FastLinear(4, 3), FastLinear(4, 3), FastLinear(4, 5)
        self.embedding = nn.Embedding(5, 4)
        self.embedding.weight = self.output.weight

    def forward(self, ids):
        x = self.embedding(ids)
        return self.output(torch.tanh(x)) + (x @ self.otherwise.weight.t()).sum()


def test_other_uses_and_tied_weights_have_their_gradients():
    module, ids = Unused().double(), torch.tensor([3, 1, 3])
    shared, by_autograd = (gradients((run(ids) ** 2).sum(), module) for run in (lambda x: call(module, x), module))
    assert [g is None for g in shared] == [g is None for g in by_autograd]
    assert_all_close(*([g for g in some if g is not None] for some in (shared, by_autograd)))


def test_a_weight_that_changed_before_its_gradient_is_an_error(steps):
    total = call(steps, draw(6, 4)).sum()
    with torch.no_grad():
        steps.second.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified inplace"):
        total.backward()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_a_plain_call_and_leaves_nothing(steps, expected, mode):
    by_autograd, _ = expected(draw(6, 4))
    gc.disable()
    try:
        with mode(), Made() as made:
            value = call(steps, draw(6, 4))
            assert value.grad_fn is None
            assert_all_close([value], [by_autograd])
            del value
        assert made.held(by_autograd, *steps.parameters()) == 0
    finally:
        gc.enable()
