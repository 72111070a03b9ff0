"""What the runner captures and replays, against the CPU."""

from copy import deepcopy

import pytest
import torch
from support.cuda_graph_cases import BAHDANAU, VARIANTS, assert_like, batches, gradient_of_loss, losses_of, model_of

from nmt.fast.cuda_graphs import CUDAGraphRunner


@pytest.mark.parametrize("sampled", [None, 99])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_replayed_gradients_are_those_of_the_cpu(variant, scheduled, sampled, monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # cuDNN would round to 10 bits
    model = model_of(variant)
    losses, on_gpu = (losses_of(copy, sampled) for copy in (model, deepcopy(model).cuda()))
    runner = CUDAGraphRunner(on_gpu, "float32")
    assert CUDAGraphRunner.is_possible(on_gpu.model)
    for batch in batches(9) * 3:  # computed, captured, replayed
        mask = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
        nll, gradients = gradient_of_loss(losses, batch, mask)
        on_gpu.zero_grad()
        expected = nll, [None if x is None else x.cuda() for x in gradients]
        assert_like(on_gpu, runner(batch, mask).item(), expected, 2e-5)


def test_two_replayed_batches_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    losses = losses_of(model_of(BAHDANAU))
    on_gpu, two = deepcopy(losses).cuda(), batches(2)
    runner = CUDAGraphRunner(on_gpu, "float32")
    for batch in two:
        losses(batch, None).smoothed.backward()
    for _ in range(4):
        on_gpu.zero_grad()
        for batch in two:
            runner(batch, None)
        for weight, expected in zip(on_gpu.parameters(), losses.parameters(), strict=True):
            assert expected.grad is None or torch.allclose(weight.grad.cpu(), expected.grad, atol=1e-5)


def test_dropout_differs_from_one_replay_to_the_next() -> None:
    model = model_of(BAHDANAU)
    model.decoder.dropout.p = 0.5
    losses = losses_of(model).cuda()
    runner, [batch] = CUDAGraphRunner(losses, "float32"), batches(1)
    nll = []
    for _ in range(5):
        losses.zero_grad()
        nll.append(runner(batch, None).item())
    assert len(set(nll)) == 5
