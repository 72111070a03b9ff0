"""Windows of a memory against PyTorch's own selection: values, gradients, and what they cost."""

import pytest
import torch
from attention_growth import kept
from support.plain import gather_windows as plain_gather_windows
from support.tiny_models import VARIANTS, tiny_model

from nmt.data.batching import Example, collate
from nmt.fast.attention import gather_windows
from nmt.fast.modules import replace_modules
from nmt.fast.shared_gradients import reused

B, N, S, X, T, W = 3, 2, 9, 4, 5, 3


def draw(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def places(*sentences, steps=T, seed=2):
    return torch.randint(0, S, (*sentences, steps, W), generator=torch.Generator().manual_seed(seed))


def expected(memory, positions):
    """By indexing, which autograd knows all about."""
    rows = memory.reshape(-1, S, X)
    windows = rows[torch.arange(len(rows))[:, None, None], positions.expand(*memory.shape[:-2], -1, -1).flatten(0, -3)]
    return windows.view(*memory.shape[:-2], *windows.shape[1:])


@pytest.mark.parametrize("shape", [(B, S, X), (B, N, S, X)])
def test_values_and_gradients_of_many_windows_are_those_of_indexing(shape):
    origin = draw(*shape).requires_grad_()
    gradients = []
    for select, memory in (
        (gather_windows, reused(2 * origin)),
        (plain_gather_windows, 2 * origin),
        (expected, 2 * origin),
    ):
        windows = [select(memory, places(*shape[:-2], seed=i)) for i in range(4)]
        windows.append(select(memory, places(B, *(1 for _ in shape[1:-2]))))  # all heads have these
        total = sum((draw(*w.shape, seed=i) * w * w).sum() for i, w in enumerate(windows))
        total = total + (draw(*shape, seed=9) * memory**3).sum()  # and a use of all of it
        gradients.append((windows, total, torch.autograd.grad(total, origin, retain_graph=True)[0]))
        again = torch.autograd.grad(total, origin)[0]
        assert torch.equal(gradients[-1][2], again)  # nothing is left over from the first time
    *found, (by_index, other_total, other_gradient) = gradients
    for windows, total, gradient in found:
        for one, other in zip(windows, by_index, strict=True):
            assert torch.equal(one, other)
        assert total.item() == pytest.approx(other_total.item(), rel=1e-14)
        torch.testing.assert_close(gradient, other_gradient, rtol=0, atol=1e-13)


def test_windows_alone_give_their_gradient_too_and_no_window_gives_none():
    origin = draw(B, S, X).requires_grad_()
    gather_windows(reused(origin), places(B)).sum().backward()
    counts = torch.zeros(B, S).scatter_add(1, places(B).flatten(1), torch.ones(B, T * W)).double()
    assert torch.equal(origin.grad, counts.unsqueeze(2).expand(-1, -1, X))
    untouched = draw(B, S, X).requires_grad_()
    reused(untouched)
    assert untouched.grad is None


def test_a_memory_that_is_not_shared_has_its_gradient_too():
    origin = draw(B, S, X).requires_grad_()
    rows = torch.tensor([2, 0, 2, 1])
    gradients = []
    for select in (gather_windows, plain_gather_windows, expected):
        picked = reused(origin).index_select(0, rows)
        total = (select(picked, places(4)) ** 2).sum() + (select(picked, places(4, seed=5)) ** 3).sum()
        gradients += torch.autograd.grad(total, origin)
    for gradient in gradients[:-1]:
        torch.testing.assert_close(gradient, gradients[-1], rtol=0, atol=1e-12)


def test_without_gradients_it_is_a_plain_selection():
    memory = draw(B, S, X)
    with torch.inference_mode():
        assert torch.equal(gather_windows(reused(memory), places(B)), expected(memory, places(B)))


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
