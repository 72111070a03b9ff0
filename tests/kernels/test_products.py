"""The products of attention against `@`."""

import pytest
import torch
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_twins

from nmt.kernels.products import inner_products, weighted_sums

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)
# The products, and the last size of what is multiplied with a memory of S = 7 and X = 4
PRODUCTS = {"inner": (inner_products, lambda q, k: q @ k.mT, 4), "weighted": (weighted_sums, torch.matmul, 7)}


@EVERY_LAYOUT
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("sizes", [(3, 5), (3, 1), (1, 5), (1, 1), (0, 1), (0, 2)], ids=str)
def test_values_and_gradients_are_those_of_matrix_products(product, sizes, layout):
    by_hand, plain, last = PRODUCTS[product]
    if sizes[0] or layout != "expanded":
        assert_twins(by_hand, plain, [draw(*sizes, last), draw(sizes[0], 7, 4, seed=2)], LAYOUTS[layout])


@EVERY_LAYOUT
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("queries", [1, 3])
def test_gradients_are_those_of_finite_differences(product, queries, layout):
    by_hand, _, last = PRODUCTS[product]
    of, leaves = LAYOUTS[layout], [draw(2, queries, last).requires_grad_(), draw(2, 7, 4, seed=2).requires_grad_()]
    assert torch.autograd.gradcheck(lambda *leaves: of(by_hand(*map(of, leaves))), leaves)


@pytest.mark.parametrize("queries", [1, 3])
def test_each_head_of_a_memory_is_a_sentence(queries):
    heads = draw(3, 2, 7, 4)
    for by_hand, plain, last in PRODUCTS.values():
        left = draw(6, queries, last, seed=2)
        torch.testing.assert_close(by_hand(left, heads), plain(left, heads.flatten(0, 1)), rtol=1e-12, atol=1e-12)
