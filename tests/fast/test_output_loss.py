"""The output layer in chunks against the same at once, and against finite differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_twins

from nmt.fast import output_loss as module
from nmt.fast.output_loss import output_loss, padded_output_loss

FEATURES, VOCABULARY, CHUNK = 4, 6, 4
SMOOTHING = [0.0, 0.1, 0.9]
COUNTS = (1.0, 3.0, 1.0, 1.0, 2.5, 1.0)  # vocabulary entries that each output counts as; targets count once
ONCE = torch.tensor([0, 2, 3, 5])


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", CHUNK)


def inputs(tokens):
    return [draw(tokens, FEATURES), draw(VOCABULARY, FEATURES, seed=2), draw(VOCABULARY, seed=3)]


def targets(tokens):
    return torch.randint(VOCABULARY, (tokens,), generator=torch.Generator().manual_seed(4))


def smoothed(function, tokens, smoothing, counts=None):
    """The loss as a function of features, weight and bias."""
    ids = targets(tokens) if counts is None else ONCE[targets(tokens) % len(ONCE)]

    def loss(*tensors):
        of_outputs = None if counts is None else torch.tensor(counts).to(tensors[0].dtype)
        return function(*tensors, ids, smoothing, counts=of_outputs).smoothed

    return loss


@pytest.mark.parametrize(
    ("tokens", "counts", "smoothing", "layout"),
    all_pairs(
        [0, 1, CHUNK - 1, CHUNK, CHUNK + 2, 3 * CHUNK + 2],
        [None, COUNTS],
        SMOOTHING,
        LAYOUTS,
    ),
    ids=str,
)
def test_loss_and_gradients_are_those_of_all_tokens_at_once(tokens, counts, smoothing, layout):
    fast, plain = (smoothed(f, tokens, smoothing, counts) for f in (output_loss, padded_output_loss))
    assert_twins(fast, plain, inputs(tokens), LAYOUTS[layout])


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("function", [output_loss, padded_output_loss])
def test_an_output_that_counts_n_times_is_like_n_copies_of_it(function, smoothing):
    copies = torch.tensor([1, 3, 1, 1, 2, 1])
    ids = ONCE.repeat_interleave(2)
    features, weight, bias = inputs(len(ids))
    of_copies = [features.clone().requires_grad_(), *(x.repeat_interleave(copies, dim=0) for x in (weight, bias))]
    features.requires_grad_()
    expected = padded_output_loss(*of_copies, (copies.cumsum(0) - copies)[ids], smoothing)
    loss = function(features, weight, bias, ids, smoothing, counts=copies.to(features.dtype))
    torch.testing.assert_close(loss, expected)
    gradients = (torch.autograd.grad(x.smoothed, y) for x, y in ((loss, features), (expected, of_copies[0])))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("scale", [20, 600])  # the probability of one in six references is 0, and of three in four
def test_references_of_hardly_any_probability(smoothing, scale):
    features, weight, bias = (x.float() for x in inputs(40))
    functions, tensors = (output_loss, padded_output_loss), [scale * features, weight, bias]
    assert_twins(*(smoothed(f, 40, smoothing) for f in functions), tensors)
    torch.testing.assert_close(*(f(*tensors, targets(40), smoothing).nll for f in functions))


@pytest.mark.parametrize("below", [80, 95, 102, 110])  # probabilities that are normal, not, with one bit, and 0
@pytest.mark.parametrize("flushed", [False, True])
def test_references_of_a_probability_that_has_few_bits(below, flushed):
    logits = torch.zeros(5, VOCABULARY)
    logits[:, 2] = -below
    before = torch.tensor([1e-40]).mul(1) == 0
    torch.set_flush_denormal(flushed)
    try:
        loss = output_loss(logits, torch.eye(VOCABULARY), torch.zeros(VOCABULARY), torch.full((5,), 2), 0.0)
    finally:
        torch.set_flush_denormal(bool(before))
    torch.testing.assert_close(loss.nll.item(), 5 * (below + math.log(VOCABULARY - 1)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_loss_is_pytorchs_with_or_without_a_graph_and_its_gradient_scales(smoothing):
    leaves = [x.requires_grad_() for x in inputs(8)]
    loss = output_loss(*leaves, targets(8), smoothing)
    logits = F.linear(*leaves)
    expected = F.cross_entropy(logits, targets(8), label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.smoothed, expected)
    torch.testing.assert_close(loss.nll, F.cross_entropy(logits, targets(8), reduction="sum").detach())
    first, second = (torch.autograd.grad(loss.smoothed, leaves, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    for one, seventh in zip(first, torch.autograd.grad(loss.smoothed / 7, leaves), strict=True):
        torch.testing.assert_close(seventh, one / 7)
    with torch.no_grad():
        without = output_loss(*leaves, targets(8), smoothing)
    assert without == loss
    assert loss.smoothed.requires_grad
    assert not any(x.requires_grad for x in (loss.nll, without.smoothed))
