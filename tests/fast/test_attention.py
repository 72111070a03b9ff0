"""The products of attention against `@`, additive scores against their plain twin, windows against indexing."""

import pytest
import torch
from attention_growth import kept
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.plain import additive_scores as plain_additive_scores
from support.plain import gather_windows as plain_gather_windows
from support.tiny_models import VARIANTS, tiny_model
from support.twins import LAYOUTS, Made, assert_all_close, assert_twins

from nmt.data.batching import Example, collate
from nmt.fast import attention
from nmt.fast.attention import FEW, LARGE, additive_scores, gather_windows, inner_products, weighted_sums
from nmt.fast.modules import replace_modules
from nmt.fast.shared_gradients import reused

B, N, S, X, T, W = 3, 2, 7, 4, 5, 3
V = draw(X, seed=3)
# The products, and the last size of what is multiplied with a memory of S = 7 and X = 4
PRODUCTS = {
    "inner": (inner_products, lambda q, k: q @ k.mT, X),
    "weighted": (weighted_sums, torch.matmul, S),
    "additive": (lambda q, k: additive_scores(q, k, V.to(q)), lambda q, k: plain_additive_scores(q, k, V.to(q)), X),
}
CHUNKS = (1, 60, attention.CHUNK)  # one sentence at a time, some, or all of them


@pytest.fixture
def sizes(monkeypatch):
    """`sizes(large, chunk)`: of memories that are read once for several queries, and of chunks of additive scores."""

    def change(large, chunk):
        monkeypatch.setattr(attention, "LARGE", large)
        monkeypatch.setattr(attention, "CHUNK", chunk)

    return change


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
def test_values_and_gradients_are_those_of_plain_operations(product, leading, queries, layout, large, chunk, sizes):
    sizes(large, chunk)
    fast, plain, last = PRODUCTS[product]
    assert_twins(fast, plain, [draw(*leading, queries, last), draw(*leading, S, X, seed=2)], LAYOUTS[layout])


@pytest.mark.parametrize(
    ("product", "queries", "layout", "large", "chunk"),
    all_pairs(PRODUCTS, [1, 3, FEW + 1], LAYOUTS, [0, LARGE], CHUNKS),
    ids=str,
)
def test_gradients_are_those_of_finite_differences(product, queries, layout, large, chunk, sizes):
    sizes(large, chunk)
    fast, _, last = PRODUCTS[product]
    of, leaves = LAYOUTS[layout], [draw(2, queries, last).requires_grad_(), draw(2, S, X, seed=2).requires_grad_()]
    assert torch.autograd.gradcheck(lambda *leaves: of(fast(*map(of, leaves))), leaves)


@pytest.mark.parametrize("factors", [(1, 1), (1e3, 1), (1, 1e3), (30, 20), (19, 19)])
def test_additive_scores_have_a_gradient_of_v_and_large_sums_saturate(factors):
    inputs = [factors[0] * draw(3, 5, 4), factors[1] * draw(3, 7, 4, seed=2), V]
    assert_twins(additive_scores, plain_additive_scores, inputs)
    leaves = [x.requires_grad_() for x in (draw(2, 3, 4), draw(2, 5, 4, seed=2), draw(4))]
    assert torch.autograd.gradcheck(additive_scores, leaves)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_additive_scores_never_hold_as_many_values_as_sums(chunk, sizes):
    sizes(LARGE, chunk)
    sentences, queries, positions, size = 2, 30, 40, 20
    shapes = (sentences, queries, size), (sentences, positions, size), (size,)
    leaves, saved = [draw(*shape).requires_grad_() for shape in shapes], []
    with Made() as made, torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x.numel()) or x, lambda x: x):
        additive_scores(*leaves).sum().backward()
    assert max(made.sizes) == sentences * max(positions * size, queries * size, queries * positions)
    assert sum(saved) == sum(x.numel() for x in leaves)


def positions_of(*sentences, steps=T, seed=2):
    return torch.randint(0, S, (*sentences, steps, W), generator=torch.Generator().manual_seed(seed))


def by_index(memory, positions):
    rows = memory.reshape(-1, S, X)
    windows = rows[torch.arange(len(rows))[:, None, None], positions.expand(*memory.shape[:-2], -1, -1).flatten(0, -3)]
    return windows.view(*memory.shape[:-2], *windows.shape[1:])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("shape", [(B, S, X), (B, N, S, X)])
def test_values_and_gradients_of_many_windows_are_those_of_indexing(shape, shared):
    origin, results = draw(*shape).requires_grad_(), []
    for select in (gather_windows, plain_gather_windows, by_index):
        memory = reused(2 * origin) if shared else 2 * origin
        windows = [select(memory, positions_of(*shape[:-2], seed=i)) for i in range(4)]
        windows.append(select(memory, positions_of(B, *(1 for _ in shape[1:-2]))))  # all heads have these
        total = sum((draw(*w.shape, seed=i) * w * w).sum() for i, w in enumerate(windows))
        total = total + (draw(*shape, seed=9) * memory**3).sum()  # and a use of all of it
        gradients = [torch.autograd.grad(total, origin, retain_graph=True)[0] for _ in range(2)]
        assert torch.equal(*gradients)  # nothing is left over from the first time
        results.append([*windows, total, gradients[0]])
    for found in results[:-1]:
        assert_all_close(found, results[-1])
    with torch.inference_mode():
        assert torch.equal(
            gather_windows(origin, positions_of(*shape[:-2])), by_index(origin, positions_of(*shape[:-2]))
        )


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
