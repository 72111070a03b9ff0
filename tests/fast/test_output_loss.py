"""The output layer in chunks against the same at once, and against finite differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from support.attention_cases import draw
from support.twins import LAYOUTS, Made, assert_twins

from nmt.fast import output_loss as module
from nmt.fast.output_loss import output_loss
from nmt.fast.output_loss import padded_output_loss as plain_output_loss

FEATURES, TYPES, CHUNK = 4, 6, 3
SMOOTHING = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", CHUNK)


def inputs(tokens):
    return [draw(tokens, FEATURES), draw(TYPES, FEATURES, seed=2), draw(TYPES, seed=3)]


def targets(tokens):
    return torch.randint(TYPES, (tokens,), generator=torch.Generator().manual_seed(4))


def smoothed(function, tokens, smoothing):
    return lambda *tensors: function(*tensors, targets(tokens), smoothing).smoothed


@SMOOTHING
@EVERY_LAYOUT
@pytest.mark.parametrize("tokens", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 2])
def test_loss_and_gradients_are_those_of_all_tokens_at_once(tokens, layout, smoothing):
    fast, plain = (smoothed(function, tokens, smoothing) for function in (output_loss, plain_output_loss))
    assert_twins(fast, plain, inputs(tokens), LAYOUTS[layout])


@SMOOTHING
@pytest.mark.parametrize("r_drop", [None, 3.0])
def test_tokens_that_are_not_counted_are_left_out(smoothing, r_drop):
    counted = torch.tensor([True, False, True, True, False]).repeat_interleave(2)  # of both readings
    features, weight, bias = inputs(10)
    left_out, alone = features.clone().requires_grad_(), features[counted].clone().requires_grad_()
    wanted = targets(5).repeat_interleave(2)
    found = plain_output_loss(left_out, weight, bias, wanted, smoothing, r_drop, counted)
    expected = plain_output_loss(alone, weight, bias, wanted[counted], smoothing, r_drop)
    torch.testing.assert_close(found.smoothed, expected.smoothed)
    torch.testing.assert_close(found.nll, expected.nll)
    [gradient], [expected_gradient] = (
        torch.autograd.grad(loss.smoothed, rows) for loss, rows in ((found, left_out), (expected, alone))
    )
    torch.testing.assert_close(gradient[counted], expected_gradient)
    assert not gradient[~counted].any()


@pytest.fixture
def in_pairs(monkeypatch):
    """Chunks, and parts of them, of whole pairs of readings."""
    monkeypatch.setattr(module, "CHUNK", 4)
    monkeypatch.setattr(module, "CACHED", 2)


def read_twice(function, tokens, smoothing):
    """Half of the tokens, in two readings each."""
    wanted = targets(tokens // 2).repeat_interleave(2)
    return lambda *tensors: function(*tensors, wanted, smoothing, 3.0).smoothed


@pytest.mark.usefixtures("in_pairs")
@SMOOTHING
@EVERY_LAYOUT
@pytest.mark.parametrize("tokens", [0, 2, 4, 6, 14])
def test_two_readings_have_the_loss_and_gradients_of_all_at_once(tokens, layout, smoothing):
    fast, plain = (read_twice(function, tokens, smoothing) for function in (output_loss, plain_output_loss))
    assert_twins(fast, plain, inputs(tokens), LAYOUTS[layout])


@pytest.mark.usefixtures("in_pairs")
@SMOOTHING
def test_two_readings_have_the_gradients_of_finite_differences(smoothing):
    leaves = [x.requires_grad_() for x in inputs(10)]
    assert torch.autograd.gradcheck(read_twice(output_loss, 10, smoothing), leaves)


COUNTS = torch.tensor([1.0, 3, 1, 1, 2.5, 1])  # of the types; targets stand for themselves


def with_others(function, tokens, smoothing, r_drop):
    """The targets are the types that stand for themselves alone."""
    alone = torch.tensor([0, 2, 3, 5])
    wanted = alone[targets(tokens // 2) % len(alone)].repeat_interleave(2)
    return lambda *tensors: function(*tensors, wanted, smoothing, r_drop, counts=COUNTS.to(tensors[0].dtype)).smoothed


@pytest.mark.usefixtures("in_pairs")
@SMOOTHING
@pytest.mark.parametrize("r_drop", [None, 3.0])
@pytest.mark.parametrize("tokens", [0, 2, 4, 14])
def test_types_that_stand_for_others_have_the_loss_and_gradients_of_all_at_once(tokens, smoothing, r_drop):
    fast, plain = (with_others(function, tokens, smoothing, r_drop) for function in (output_loss, plain_output_loss))
    assert_twins(fast, plain, inputs(tokens))
    if tokens:
        leaves = [x.requires_grad_() for x in inputs(tokens)]
        assert torch.autograd.gradcheck(with_others(output_loss, tokens, smoothing, r_drop), leaves)


@pytest.mark.usefixtures("in_pairs")
@SMOOTHING
@pytest.mark.parametrize("r_drop", [None, 3.0])
@pytest.mark.parametrize("function", [output_loss, plain_output_loss])
def test_a_type_that_stands_for_others_is_like_as_many_copies_of_it(function, smoothing, r_drop):
    copies = torch.tensor([1, 3, 1, 1, 2, 1])
    wanted = torch.tensor([0, 2, 3, 5]).repeat_interleave(2)
    features, weight, bias = inputs(len(wanted))
    of_copies = [features.clone().requires_grad_(), *(x.repeat_interleave(copies, dim=0) for x in (weight, bias))]
    features.requires_grad_()
    places = (copies.cumsum(0) - copies)[wanted]  # of a type's first copy
    expected = plain_output_loss(*of_copies, places, smoothing, r_drop)
    found = function(features, weight, bias, wanted, smoothing, r_drop, counts=copies.to(features.dtype))
    torch.testing.assert_close(found, expected)
    gradient, expected_gradient = (
        torch.autograd.grad(loss.smoothed, rows) for loss, rows in ((found, features), (expected, of_copies[0]))
    )
    torch.testing.assert_close(gradient, expected_gradient)


@SMOOTHING
def test_no_token_has_no_loss_and_no_gradient(smoothing):
    assert_twins(*(smoothed(f, 0, smoothing) for f in (output_loss, plain_output_loss)), inputs(0))


@SMOOTHING
@pytest.mark.parametrize("scale", [20, 600])  # the probability of one in six references is 0, and of three in four
def test_references_of_hardly_any_probability(smoothing, scale):
    features, weight, bias = (x.float() for x in inputs(40))
    assert_twins(
        *(smoothed(f, 40, smoothing) for f in (output_loss, plain_output_loss)), [scale * features, weight, bias]
    )
    nll = [f(scale * features, weight, bias, targets(40), smoothing).nll for f in (output_loss, plain_output_loss)]
    torch.testing.assert_close(*nll)


@pytest.mark.parametrize("below", [80, 95, 102, 110])  # probabilities that are normal, not, with one bit, and 0
@pytest.mark.parametrize("flushed", [False, True])
def test_references_of_a_probability_that_has_few_bits(below, flushed):
    logits = torch.zeros(5, TYPES)
    logits[:, 2] = -below
    wanted = torch.full((5,), 2)
    before = torch.tensor([1e-40]).mul(1) == 0
    torch.set_flush_denormal(flushed)
    try:
        loss = output_loss(logits, torch.eye(TYPES), torch.zeros(TYPES), wanted, 0.0)
    finally:
        torch.set_flush_denormal(bool(before))
    torch.testing.assert_close(loss.nll.item(), 5 * (below + math.log(TYPES - 1)), rtol=1e-6, atol=0)


@SMOOTHING
@EVERY_LAYOUT
def test_gradients_are_those_of_finite_differences(layout, smoothing):
    of, leaves = LAYOUTS[layout], [x.requires_grad_() for x in inputs(2 * CHUNK + 1)]
    assert torch.autograd.gradcheck(
        lambda *leaves: smoothed(output_loss, 2 * CHUNK + 1, smoothing)(*map(of, leaves)), leaves
    )


@SMOOTHING
def test_loss_is_pytorchs(smoothing):
    features, weight, bias = inputs(8)
    loss = output_loss(features, weight, bias, targets(8), smoothing)
    logits = features @ weight.t() + bias
    expected = F.cross_entropy(logits, targets(8), label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.smoothed, expected)
    torch.testing.assert_close(loss.nll, F.cross_entropy(logits, targets(8), reduction="sum"))


def test_the_likelihood_has_no_gradient_and_the_loss_one_without_graph():
    leaves = [x.requires_grad_() for x in inputs(8)]
    loss = output_loss(*leaves, targets(8), 0.1)
    assert loss.smoothed.requires_grad
    assert not loss.nll.requires_grad
    with torch.no_grad():
        without = output_loss(*leaves, targets(8), 0.1)
    assert without == loss
    assert not without.smoothed.requires_grad


def test_the_gradient_is_proportional_to_its_factor_and_a_second_pass_gives_the_same():
    leaves = [x.requires_grad_() for x in inputs(8)]
    loss = output_loss(*leaves, targets(8), 0.1).smoothed
    first, second = (torch.autograd.grad(loss, leaves, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    for one, seventh in zip(first, torch.autograd.grad(loss / 7, leaves), strict=True):
        torch.testing.assert_close(seventh, one / 7)
    assert all(map(torch.equal, leaves, inputs(8)))


@pytest.mark.parametrize("gradient", [True, False])
def test_there_are_never_more_logits_than_a_chunks(gradient):
    tokens, types = 40, 300
    features = draw(tokens, FEATURES).requires_grad_(gradient)
    weight, bias = draw(types, FEATURES).requires_grad_(gradient), draw(types).requires_grad_(gradient)
    with Made() as made:
        loss = output_loss(features, weight, bias, targets(tokens), 0.1).smoothed
        if gradient:
            loss.backward()
    assert max(made.sizes) == max(CHUNK, FEATURES) * types
