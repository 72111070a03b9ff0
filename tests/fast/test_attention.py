"""The products of attention against `@`, and additive scores against theirs."""

import pytest
import torch
from attention_growth import kept
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.plain import additive_scores as plain_additive_scores
from support.tiny_models import VARIANTS, tiny_model
from support.twins import LAYOUTS, assert_twins

from nmt.data.batching import Example, collate
from nmt.fast import attention
from nmt.fast.attention import FEW, LARGE, additive_scores, inner_products, weighted_sums
from nmt.fast.modules import replace_modules

S, X = 7, 4
V = draw(X, seed=3)
# The products, and the last size of what is multiplied with a memory of S = 7 and X = 4
PRODUCTS = {
    "inner": (inner_products, lambda q, k: q @ k.mT, X),
    "weighted": (weighted_sums, torch.matmul, S),
    "additive": (lambda q, k: additive_scores(q, k, V.to(q)), lambda q, k: plain_additive_scores(q, k, V.to(q)), X),
}
CHUNKS = (1, 60, attention.CHUNK)  # one sentence at a time, some, or all of them


@pytest.mark.parametrize(
    ("product", "leading", "queries", "layout", "large", "chunk"),
    all_pairs(
        PRODUCTS,
        [(3,), (1,), (0,), (3, 2)],
        [1, 2, FEW, FEW + 1],
        LAYOUTS,
        [0, LARGE],
        CHUNKS,
        valid=lambda _, leading, __, layout, *___: leading != (0,) or layout != "expanded",
    ),
    ids=str,
)
def test_values_and_gradients_are_the_plain_ones(product, leading, queries, layout, large, chunk, monkeypatch):
    monkeypatch.setattr(attention, "LARGE", large)
    monkeypatch.setattr(attention, "CHUNK", chunk)
    fast, plain, last = PRODUCTS[product]
    assert_twins(fast, plain, [draw(*leading, queries, last), draw(*leading, S, X, seed=2)], LAYOUTS[layout])


@pytest.mark.parametrize("factors", [(1, 1), (1e3, 1), (1, 1e3), (30, 20), (19, 19)])
def test_additive_scores_have_a_gradient_of_v_and_large_sums_saturate(factors):
    inputs = [factors[0] * draw(3, 5, 4), factors[1] * draw(3, 7, 4, seed=2), V]
    assert_twins(additive_scores, plain_additive_scores, inputs)


def kept_of_a_step(variant, source, target):
    model = tiny_model(variant, window=1)
    replace_modules(model)
    return kept(model, collate([Example([5] * (source - 1), [5] * (target - 1))] * 2))


STEP_BY_STEP = [v for v in VARIANTS if (v.wiring == "bahdanau" or v.input_feeding) and v.extra != "coverage"]


@pytest.mark.parametrize("variant", STEP_BY_STEP, ids=str)
def test_a_local_step_keeps_as_much_of_a_long_source_as_of_a_short_one(variant):
    short, long = (kept_of_a_step(variant, length, 12) - kept_of_a_step(variant, length, 4) for length in (30, 120))
    assert short > 0
    assert (long > short) == (not variant.scope.startswith("local"))
