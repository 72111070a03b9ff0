"""Products and linear layers against PyTorch's, and which kernels compute them."""

import pytest
import torch
import torch.nn.functional as F
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_twins

from nmt.fast.processor import Processor
from nmt.fast.products import linear, multiply, prefers_onednn, weight_gradient


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "layout"),
    [
        *all_pairs([(7,), (1,), (0,), (), (3, 5), (2, 0), (2, 1, 3)], [4, 1], [3, 1], ["plain"]),
        *all_pairs([(19,), (3, 7), (1,)], [24], [17], LAYOUTS),
    ],
    ids=str,
)
def test_linear_layers_are_pytorchs(rows, inputs, outputs, layout):
    tensors = [draw(*rows, inputs), draw(outputs, inputs, seed=2), draw(outputs, seed=3)]
    for arguments in (tensors, tensors[:2]):
        assert_twins(linear, F.linear, arguments, LAYOUTS[layout])


@pytest.mark.parametrize(
    ("left_layout", "right_layout", "sizes"),
    all_pairs(LAYOUTS, LAYOUTS, [(5, 33, 18), (1, 33, 18), (5, 1, 8), (5, 33, 1), (5, 0, 3), (5, 64, 8), (4, 300, 3)]),
    ids=str,
)
def test_products_of_matrices_in_any_layout(left_layout, right_layout, sizes):
    rows, inner, columns = sizes
    left, right = LAYOUTS[left_layout](draw(rows, inner)), LAYOUTS[right_layout](draw(inner, columns, seed=2))
    bias = LAYOUTS[right_layout](draw(columns, seed=3))
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        a, b, c = left.to(dtype), right.to(dtype), bias.to(dtype)
        close = {"rtol": tolerance, "atol": tolerance}
        torch.testing.assert_close(multiply(a, b), (left @ right).to(dtype), **close)
        torch.testing.assert_close(multiply(a, b, c), (left @ right + bias).to(dtype), **close)
        torch.testing.assert_close(weight_gradient(a.t(), b), (left @ right).t().to(dtype), **close)


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
