"""The CUDA graph runner's padded batches against the batches as they are. What it captures: `tests/gpu`."""

from typing import Any

import pytest
import torch
from support.cuda_graph_cases import ATTENTIONS, BAHDANAU, assert_like, batches, gradient_of_loss, losses_of, model_of
from torch import Tensor

from nmt.components import SCOPES
from nmt.fast import cuda_graphs
from nmt.fast.cuda_graphs import SOURCE_STEP, TARGET_STEP, CUDAGraphRunner, Shape, flat, follows_shape, unflat
from nmt.text.vocabulary import PAD


@pytest.mark.parametrize(("r_drop", "sampled"), [(None, None), (2.0, None), (None, 99)])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_padding_changes_nothing(
    attention: dict[str, Any],
    scheduled: bool,
    r_drop: float | None,
    sampled: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_graphs, "MOST", 0)  # computed as it is recorded, but recorded nowhere
    for cell, layers in (("gru", 1), ("lstm", 2)):
        losses = losses_of(model_of(attention, cell, layers).double(), r_drop, sampled)
        runner = CUDAGraphRunner(losses, "float32")
        for batch in batches(4):
            mask = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
            wanted = gradient_of_loss(losses, batch, mask)
            losses.zero_grad()
            assert_like(losses, runner(batch, mask).item(), wanted, 1e-11)


def test_gradients_of_several_batches_are_summed_until_they_are_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graphs, "MOST", 0)
    losses = losses_of(model_of(BAHDANAU).double(), None, None)
    runner, (first, second, third) = CUDAGraphRunner(losses, "float32"), batches(3)
    losses.zero_grad()
    for batch in (first, second):
        losses(batch, None).smoothed.backward()
    wanted = [weight.grad.clone() for weight in losses.parameters() if weight.grad is not None]
    runner(third, None)
    losses.zero_grad()
    for batch in (first, second):
        runner(batch, None)
    found = [weight.grad for weight in losses.parameters() if weight.grad is not None]
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, wanted, strict=True))


def test_a_batch_comes_back_from_one_tensor() -> None:
    for batch in batches(6):
        mask = torch.rand(batch.target_input.shape) < 0.5
        shape, numbers = flat(batch, mask)
        assert (shape.source % SOURCE_STEP, shape.target % TARGET_STEP, shape.masked) == (0, 0, True)
        again, mask_again = unflat(shape, numbers)
        source, target = batch.source.shape[1], batch.target_input.shape[1]
        assert torch.equal(again.source[:, :source], batch.source)
        assert (again.source[:, source:] == PAD).all()
        assert torch.equal(again.target_input[:, :target], batch.target_input)
        assert torch.equal(again.target_output[:, :target], batch.target_output)
        assert torch.equal(again.loss_positions % shape.target, batch.loss_positions % target)
        assert torch.equal(again.source_lengths, batch.source_lengths)
        assert mask_again is not None
        assert torch.equal(mask_again[:, :target], mask)


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_only_what_the_shape_decides_about_can_be_recorded(scope: str) -> None:
    assert follows_shape(model_of(BAHDANAU | {"scope": scope})) is (scope == "global")
    assert follows_shape(model_of({"wiring": "none"}))


def test_without_memory_for_recordings_it_goes_on_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = losses_of(model_of(BAHDANAU).double(), None, None)
    runner, [batch] = CUDAGraphRunner(losses, "float32"), batches(1)
    wanted = gradient_of_loss(losses, batch, None)
    tried: list[Shape] = []

    def capture(shape: Shape, _: Tensor) -> None:
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(runner, "_capture", capture)
    for _ in range(4):
        losses.zero_grad()
        assert_like(losses, runner(batch, None).item(), wanted, 1e-11)
    assert len(tried) == 1


def test_a_batch_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CUDAGraphRunner(losses_of(model_of(BAHDANAU), None, None), "float32")
    tried: list[Shape] = []

    def compute(shape: Shape, _: Tensor) -> None:
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(runner, "_compute", compute)
    with pytest.raises(torch.OutOfMemoryError):
        runner(batches(1)[0], None)
    assert len(tried) == 2  # once more without recordings
