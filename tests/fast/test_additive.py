"""Additive scores by hand against their plain twin and finite differences, and what they cost in memory."""

import pytest
import torch
from support.attention_cases import draw
from support.plain import additive_scores as plain_additive_scores
from support.twins import LAYOUTS, Made, assert_twins

from nmt.fast import additive
from nmt.fast.additive import additive_scores

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture(autouse=True, params=[1, 60, additive.CHUNK])
def _chunk(request, monkeypatch):
    """One sentence at a time, some, or all of them."""
    monkeypatch.setattr(additive, "CHUNK", request.param)


def inputs(sentences, queries, positions, size=4):
    return [draw(sentences, queries, size), draw(sentences, positions, size, seed=2), draw(size, seed=3)]


@EVERY_LAYOUT
@pytest.mark.parametrize("sizes", [(3, 5, 7), (3, 1, 7), (1, 4, 1), (1, 1, 1), (0, 2, 3)], ids=str)
def test_values_and_gradients_are_those_of_the_plain_twin(layout, sizes):
    if sizes[0] or layout != "expanded":
        assert_twins(additive_scores, plain_additive_scores, inputs(*sizes), LAYOUTS[layout])


@EVERY_LAYOUT
def test_gradients_are_those_of_finite_differences(layout):
    of, leaves = LAYOUTS[layout], [x.requires_grad_() for x in inputs(2, 3, 4)]
    assert torch.autograd.gradcheck(lambda *leaves: of(additive_scores(*map(of, leaves))), leaves)


@pytest.mark.parametrize("queries", [1, 4])
def test_heads_are_a_dimension_more(queries):
    assert_twins(additive_scores, plain_additive_scores, [draw(3, 2, queries, 4), draw(3, 2, 7, 4, seed=2), draw(4)])


def test_large_sums_saturate():
    query, keys, v = inputs(3, 5, 7)
    torch.testing.assert_close(*(f(1e3 * query, keys, v) for f in (additive_scores, plain_additive_scores)))
    for factors in ((1e3, 1), (1, 1e3), (30, 20), (19, 19)):
        assert_twins(additive_scores, plain_additive_scores, [factors[0] * query, factors[1] * keys, v])


def test_a_second_pass_gives_the_same_and_changes_no_input():
    leaves = [x.requires_grad_() for x in inputs(3, 5, 7)]
    total = (additive_scores(*leaves) ** 2).sum()
    first, second = (torch.autograd.grad(total, leaves, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    assert all(map(torch.equal, leaves, inputs(3, 5, 7)))


def test_there_are_never_as_many_numbers_as_sums():
    sentences, queries, positions, size = 2, 30, 40, 20
    leaves = [x.requires_grad_() for x in inputs(sentences, queries, positions, size)]
    kept = []
    with Made() as made, torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.numel()) or x, lambda x: x):
        additive_scores(*leaves).sum().backward()
    assert max(made.sizes) == sentences * max(positions * size, queries * size, queries * positions)
    assert sum(kept) == sum(x.numel() for x in leaves)
