"""Linear layers against `F.linear`, and the gradient of a weight that is used many times against autograd's own sum."""

import gc

import pytest
import torch
import torch.nn.functional as F
from support.attention_cases import draw
from support.tiny_models import randomise
from support.twins import LAYOUTS, Made, assert_twins
from torch import nn

from nmt.fast import layers as module
from nmt.fast.layers import linear
from nmt.fast.modules import FastEmbedding as Embedding
from nmt.fast.modules import FastLinear as Linear
from nmt.fast.products import multiply, prefers_onednn, weight_gradient
from nmt.fast.shared_gradients import reused_weights
from nmt.system.processor import Processor

ROWS = [(7,), (1,), (0,), (), (3, 5), (2, 0), (2, 1, 3)]
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("rows", ROWS, ids=str)
@pytest.mark.parametrize("sizes", [(4, 3), (1, 1), (1, 5), (6, 1)])
def test_values_and_gradients_are_those_of_pytorch(rows, sizes):
    inputs, outputs = sizes
    tensors = [draw(*rows, inputs), draw(outputs, inputs, seed=2), draw(outputs, seed=3)]
    assert_twins(linear, F.linear, tensors)
    assert_twins(linear, F.linear, tensors[:2])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [(19,), (3, 7), (1,)], ids=str)
def test_any_layout_will_do(layout, rows):
    assert_twins(linear, F.linear, [draw(*rows, 24), draw(17, 24, seed=2), draw(17, seed=3)], LAYOUTS[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_finite_differences(layout):
    inputs = [draw(3, 2, 4).requires_grad_(), draw(5, 4).requires_grad_(), draw(5).requires_grad_()]
    of = LAYOUTS[layout]
    assert torch.autograd.gradcheck(lambda *leaves: of(linear(*map(of, leaves))), inputs)
    assert torch.autograd.gradcheck(lambda *leaves: of(linear(*map(of, leaves))), inputs[:2])


@pytest.mark.parametrize("one", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("sizes", [(5, 33, 18), (1, 33, 18), (5, 1, 8), (5, 33, 1), (5, 0, 3), (5, 64, 8), (4, 300, 3)])
def test_products_of_matrices_in_any_layout(one, other, sizes):
    rows, inner, columns = sizes
    left, right = LAYOUTS[one](draw(rows, inner)), LAYOUTS[other](draw(inner, columns, seed=2))
    bias = LAYOUTS[other](draw(columns, seed=3))
    for dtype, close in ((torch.float64, TOLERANCE), (torch.float32, {"rtol": 1e-5, "atol": 1e-5})):
        a, b, c = left.to(dtype), right.to(dtype), bias.to(dtype)
        torch.testing.assert_close(multiply(a, b), (left @ right).to(dtype), **close)
        torch.testing.assert_close(multiply(a, b, c), (left @ right + bias).to(dtype), **close)
        torch.testing.assert_close(weight_gradient(a.t(), b), (left @ right).t().to(dtype), **close)


# A weight that is used many times


def call(module, *arguments):
    """The module's value, with one gradient for all uses of each weight."""
    with reused_weights(module):
        return module(*arguments)


class Steps(nn.Module):
    """Two layers that are used at every step, one of them otherwise too, and one layer that is used once."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = Linear(4, 3), Linear(3, 4, bias=False), Linear(4, 2)

    def forward(self, x, direct=True):
        for _ in range(3):
            x = torch.tanh(self.second(torch.tanh(self.first(x))))
            if direct:
                x = x * self.first.weight.sum(dim=0)
        return self.last(x)


@pytest.fixture
def steps():
    made = Steps().double()
    randomise(made)
    return made


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


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("rows", [(6,), (2, 3), (1,)], ids=str)
def test_the_gradient_of_all_uses_is_their_sum(steps, expected, direct, rows):
    value = call(steps, draw(*rows, 4), direct)
    assert_same([value], expected(draw(*rows, 4), direct)[:1])
    assert_same(gradients((value**2).sum(), steps), expected(draw(*rows, 4), direct)[1])


def test_it_is_one_product_for_each_weight(steps, monkeypatch):
    products = []

    def count(*matrices):
        products.append(matrices[0].shape)
        return weight_gradient(*matrices)

    value = call(steps, draw(6, 4))
    monkeypatch.setattr(module, "weight_gradient", count)
    value.sum().backward()
    assert sorted(products) == [(6, 4), (18, 3), (18, 4)]


def test_a_second_pass_gives_the_same(steps, expected):
    total = (call(steps, draw(6, 4)) ** 2).sum()
    first, second, third = (gradients(total, steps, retain_graph=True) for _ in range(3))
    assert all(map(torch.equal, first, second))
    assert all(map(torch.equal, first, third))
    assert_same(first, expected(draw(6, 4))[1])


def test_a_pass_that_ends_before_the_weights_leaves_nothing_behind(steps, expected):
    x = draw(6, 4).requires_grad_()
    total = (call(steps, x) ** 2).sum()
    (of_x,) = torch.autograd.grad(total, x, retain_graph=True)
    assert_same(gradients(total, steps, retain_graph=True), expected(draw(6, 4))[1])
    assert_same(torch.autograd.grad(total, x, retain_graph=True), [of_x])
    (of_last,) = torch.autograd.grad(total, steps.last.weight, retain_graph=True)
    assert_same([of_last], [gradients(total, steps)[3]])


def test_a_pass_that_fails_leaves_nothing_behind(steps, expected):
    x = draw(6, 4).requires_grad_()

    def fail(_):
        raise RuntimeError("on the way")

    total = (call(steps, 1 * x) ** 2).sum()
    hook = x.register_hook(fail)
    with pytest.raises(RuntimeError, match="on the way"):
        torch.autograd.grad(total, x, retain_graph=True)
    hook.remove()
    assert_same(gradients(total, steps), expected(draw(6, 4))[1])


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
    assert_same(gradients(total, steps), expected(draw(6, 4))[1])


@pytest.mark.parametrize("frozen", ["first", "second", "last"])
def test_a_frozen_weight_has_no_gradient_and_the_others_have_theirs(steps, expected, frozen):
    _, all_of_them = expected(draw(6, 4))
    getattr(steps, frozen).weight.requires_grad_(False)
    (call(steps, draw(6, 4)) ** 2).sum().backward()
    for (name, parameter), gradient in zip(steps.named_parameters(), all_of_them, strict=True):
        if name == f"{frozen}.weight":
            assert parameter.grad is None
        else:
            torch.testing.assert_close(parameter.grad, gradient, **TOLERANCE)


class Unused(nn.Module):
    """A weight that no linear layer uses, one that nothing uses, and one that is an embedding's too."""

    def __init__(self):
        super().__init__()
        self.otherwise, self.never, self.output = Linear(4, 3), Linear(4, 3), Linear(4, 5)
        self.embedding = Embedding(5, 4)
        self.embedding.weight = self.output.weight

    def forward(self, ids):
        x = self.embedding(ids)
        return self.output(torch.tanh(x)) + (x @ self.otherwise.weight.t()).sum()


def test_other_uses_and_tied_weights_have_their_gradients():
    layers, ids = Unused().double(), torch.tensor([3, 1, 3])
    found = gradients((call(layers, ids) ** 2).sum(), layers)
    by_autograd = gradients((layers(ids) ** 2).sum(), layers)
    assert [g is None for g in found] == [g is None for g in by_autograd]
    assert_same(*([g for g in some if g is not None] for some in (found, by_autograd)))


def test_gradients_of_several_batches_add_up(steps, expected):
    for seed in (1, 2, 3):
        (call(steps, draw(6, 4, seed=seed)) ** 2).sum().backward()
    totals = [sum(parts) for parts in zip(*(expected(draw(6, 4, seed=s))[1] for s in (1, 2, 3)), strict=True)]
    assert_same([p.grad for p in steps.parameters()], totals)
    steps.zero_grad()
    sum((call(steps, draw(6, 4, seed=seed)) ** 2).sum() for seed in (1, 2, 3)).backward()
    assert_same([p.grad for p in steps.parameters()], totals)


def test_a_weight_that_changed_before_its_gradient_is_an_error(steps):
    total = call(steps, draw(6, 4)).sum()
    with torch.no_grad():
        steps.second.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified inplace"):
        total.backward()


@pytest.mark.parametrize("use", ["pass", "pass_retained", "part_of_a_pass", "no_pass"])
def test_nothing_stays_in_memory(steps, use):
    """Without the help of the garbage collector, which does not see into a graph."""
    x = draw(6, 4).requires_grad_()
    gc.disable()
    try:
        for _ in range(2):  # an operation's first call in a process leaves cycles of Python's own
            with Made() as made:
                total = call(steps, x).sum()
                if use.startswith("pass"):
                    total.backward(retain_graph=use == "pass_retained")
                elif use == "part_of_a_pass":
                    torch.autograd.grad(total, x, retain_graph=True)
                if use != "pass":  # after a whole pass the total is all that stays
                    del total
        kept = [p.grad for p in (x, *steps.parameters()) if p.grad is not None]
        kept += [total] if use == "pass" else []
        assert len(made.sizes) > 10
        assert made.held(x, *steps.parameters(), *kept) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_a_plain_call(steps, expected, mode):
    by_autograd, _ = expected(draw(6, 4))
    with mode(), Made() as made:
        value = call(steps, draw(6, 4))
        assert value.grad_fn is None
        assert_same([value], [by_autograd])
        del value
    assert made.held(by_autograd, *steps.parameters()) == 0


@pytest.mark.parametrize(
    ("vendor", "features", "limit", "expected"),
    [
        ("AuthenticAMD", {"avx2", "avx512f"}, "", True),
        ("AuthenticAMD", {"avx2", "avx512f"}, "AVX2", False),  # told to be an older CPU
        ("AuthenticAMD", {"avx2"}, "", False),  # Zen 1 to 3
        ("GenuineIntel", {"avx2", "avx512f"}, "", False),
        ("", set(), "", False),
    ],
)
def test_onednn_multiplies_only_where_it_is_known_to_be_faster(vendor, features, limit, expected, monkeypatch):
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    prefers_onednn.cache_clear()
    assert prefers_onednn(Processor(vendor, frozenset(features))) is expected
    prefers_onednn.cache_clear()
