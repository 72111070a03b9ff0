"""What the runner records and plays back, against the processor."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from support.cuda_graph_cases import ATTENTIONS, BAHDANAU, assert_like, batches, gradient_of_loss, losses_of, model_of

from nmt.fast.cuda_graphs import CUDAGraphRunner


@pytest.mark.parametrize(("r_drop", "sampled"), [(None, None), (2.0, None), (None, 99)])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_recorded_gradients_are_those_of_the_processor(
    attention: dict[str, Any],
    scheduled: bool,
    r_drop: float | None,
    sampled: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # cuDNN would round to 10 bits
    model = model_of(attention)
    losses, there = (losses_of(each, r_drop, sampled) for each in (model, deepcopy(model).cuda()))
    runner = CUDAGraphRunner(there, "float32")
    assert CUDAGraphRunner.is_possible(there.model)
    for batch in batches(9) * 3:  # computed, captured, replayed
        mask = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
        nll, gradients = gradient_of_loss(losses, batch, mask)
        there.zero_grad()
        found = runner(batch, mask).item()
        assert_like(there, found, (nll, [None if x is None else x.cuda() for x in gradients]), 2e-5)


def test_two_recorded_batches_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    losses = losses_of(model_of(BAHDANAU), None, None)
    there, (first, second) = deepcopy(losses).cuda(), batches(2)
    runner = CUDAGraphRunner(there, "float32")
    for batch in (first, second):
        losses(batch, None).smoothed.backward()
    wanted = [weight.grad for weight in losses.parameters() if weight.grad is not None]
    for _ in range(4):
        there.zero_grad()
        for batch in (first, second):
            runner(batch, None)
        found = [weight.grad.cpu() for weight in there.parameters() if weight.grad is not None]
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


def test_dropout_differs_from_one_playback_to_the_next() -> None:
    model = model_of(BAHDANAU)
    model.decoder.dropout.p = 0.5
    losses = losses_of(model, None, None).cuda()
    runner, [batch] = CUDAGraphRunner(losses, "float32"), batches(1)
    nll = []
    for _ in range(5):
        losses.zero_grad()
        nll.append(runner(batch, None).item())
    assert len(set(nll)) == 5
