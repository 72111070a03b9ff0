"""The products of attention against `@`."""

import pytest
import torch
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_twins

from nmt.fast import attention
from nmt.fast.attention import FEW, LARGE, inner_products, weighted_sums

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)
# The products, and the last size of what is multiplied with a memory of S = 7 and X = 4
PRODUCTS = {"inner": (inner_products, lambda q, k: q @ k.mT, 4), "weighted": (weighted_sums, torch.matmul, 7)}


@pytest.fixture(params=[0, LARGE], ids=["any-memory", "large-memories"], autouse=True)
def large(request, monkeypatch):
    """Memories of how many numbers are read by kernels of their own for several queries."""
    monkeypatch.setattr(attention, "LARGE", request.param)


@EVERY_LAYOUT
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("sizes", [(3, 5), (3, 1), (3, FEW), (3, FEW + 1), (1, 5), (1, 1), (0, 1), (0, 2)], ids=str)
def test_values_and_gradients_are_those_of_matrix_products(product, sizes, layout):
    fast, plain, last = PRODUCTS[product]
    if sizes[0] or layout != "expanded":
        assert_twins(fast, plain, [draw(*sizes, last), draw(sizes[0], 7, 4, seed=2)], LAYOUTS[layout])


@EVERY_LAYOUT
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("queries", [1, 3, FEW + 1])
def test_gradients_are_those_of_finite_differences(product, queries, layout):
    fast, _, last = PRODUCTS[product]
    of, leaves = LAYOUTS[layout], [draw(2, queries, last).requires_grad_(), draw(2, 7, 4, seed=2).requires_grad_()]
    assert torch.autograd.gradcheck(lambda *leaves: of(fast(*map(of, leaves))), leaves)


@pytest.mark.parametrize("queries", [1, 3, FEW + 1])
def test_heads_are_a_dimension_more(queries):
    for fast, plain, last in PRODUCTS.values():
        assert_twins(fast, plain, [draw(3, 2, queries, last, seed=2), draw(3, 2, 7, 4)])
