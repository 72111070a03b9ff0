"""The CUDA graph runner's padded batches against the batches as they are. What it captures: `tests/gpu`."""

from dataclasses import replace

import pytest
import torch
from support.cuda_graph_cases import BAHDANAU, VARIANTS, assert_like, batches, gradient_of_loss, losses_of, model_of

from nmt.components import SCOPES
from nmt.fast import cuda_graphs
from nmt.fast.cuda_graphs import CUDAGraphRunner, follows_shape


@pytest.fixture(autouse=True)
def _without_graphs(monkeypatch):
    """Everything is computed as it would be captured, and nothing is captured."""
    monkeypatch.setattr(cuda_graphs, "MOST", 0)


@pytest.mark.parametrize("sampled", [None, 99])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_padding_changes_nothing(variant, scheduled, sampled):
    for one, layers in ((variant, 1), (replace(variant, other="lstm"), 2)):
        losses = losses_of(model_of(one, layers).double(), sampled)
        runner = CUDAGraphRunner(losses, "float32")
        for batch in batches(4):
            mask = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
            expected = gradient_of_loss(losses, batch, mask)
            losses.zero_grad()
            assert_like(losses, runner(batch, mask).item(), expected, 1e-11)


def test_gradients_of_several_batches_are_summed_until_they_are_reset():
    losses = losses_of(model_of(BAHDANAU).double())
    runner, (first, second, third) = CUDAGraphRunner(losses, "float32"), batches(3)
    parts = [gradient_of_loss(losses, batch, None)[1] for batch in (first, second)]
    losses.zero_grad()
    runner(third, None)
    losses.zero_grad()
    for batch in (first, second):
        runner(batch, None)
    for weight, *halves in zip(losses.parameters(), *parts, strict=True):
        if weight.grad is not None:
            torch.testing.assert_close(weight.grad, sum(halves), rtol=0, atol=1e-12)


def test_only_operations_that_the_shape_decides_are_captured():
    for scope in SCOPES:
        assert follows_shape(model_of(replace(BAHDANAU, scope=scope))) is (scope == "global")
    assert follows_shape(model_of(VARIANTS[-1]))


@pytest.mark.parametrize(("failing", "most"), [("_capture", 1), ("_compute", 2)])
def test_without_memory_for_graphs_it_goes_on_without_them_and_without_any_fails(failing, most, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MOST", 9)
    losses = losses_of(model_of(BAHDANAU).double())
    runner, [batch], tried = CUDAGraphRunner(losses, "float32"), batches(1), []
    expected = gradient_of_loss(losses, batch, None)

    def fail(shape, _):
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(runner, failing, fail)
    if failing == "_compute":
        with pytest.raises(torch.OutOfMemoryError):
            runner(batch, None)
    else:
        for _ in range(4):
            losses.zero_grad()
            assert_like(losses, runner(batch, None).item(), expected, 1e-11)
    assert len(tried) == most
