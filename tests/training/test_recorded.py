"""The recorder's padded batches against the batches as they are; what it records, only where there is a CUDA GPU."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Batch, Example, collate
from nmt.model.scopes import SCOPES
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import PAD
from nmt.training import recorded
from nmt.training.loss import BatchLoss
from nmt.training.recorded import SOURCE_STEP, TARGET_STEP, Recorder, Shape, flat, follows_shape, unflat

TYPES = 12, 11
BAHDANAU = {"wiring": "bahdanau", "score": "additive"}
ATTENTIONS: dict[str, dict[str, Any]] = {
    "bahdanau": BAHDANAU,
    "coverage": BAHDANAU | {"coverage": True},
    "luong": {"wiring": "luong", "score": "general"},
    "feeding": {"wiring": "luong", "score": "dot", "input_feeding": True},
    "heads": {"wiring": "luong", "score": "additive", "heads": 2},
    "none": {"wiring": "none"},
}


def model_of(attention: dict[str, Any], cell: str = "gru", layers: int = 1) -> Seq2Seq:
    torch.manual_seed(1)
    sizes = {
        "embedding_size": 6,
        "embedding_dropout": 0.0,
        "cell": cell,
        "encoder": {"hidden_size": 4, "layers": layers, "dropout": 0.0},
        "decoder": {"hidden_size": 8, "layers": layers, "dropout": 0.0},
        "attention": attention,
    }
    return build_model(ModelConfig.model_validate(sizes), *TYPES, segment_ends=(5,)).train()


def batches(count: int) -> list[Batch]:
    """Batches of five sentences, whose longest ones differ."""
    generator = torch.Generator().manual_seed(2)

    def ids(types: int, length: int) -> list[int]:
        return torch.randint(4, types, (length,), generator=generator).tolist()

    return [
        collate([Example(ids(TYPES[0], 1 + (n + i) % 8), ids(TYPES[1], 1 + (3 * n + i) % 9)) for i in range(5)])
        for n in range(count)
    ]


def gradient_of_loss(losses: BatchLoss, batch: Batch, coins: Tensor | None) -> tuple[float, list[Tensor | None]]:
    """The NLL and the gradient as they are computed without a recorder."""
    losses.zero_grad()
    loss = losses(batch, coins, 0)
    loss.smoothed.backward()
    return loss.nll.item(), [None if weight.grad is None else weight.grad.clone() for weight in losses.parameters()]


def assert_like(losses: BatchLoss, found: float, wanted: tuple[float, list[Tensor | None]], rounding: float) -> None:
    nll, gradients = wanted
    assert found == pytest.approx(nll, rel=rounding)
    largest = max(float(gradient.abs().max()) for gradient in gradients if gradient is not None)
    for weight, gradient in zip(losses.parameters(), gradients, strict=True):
        if gradient is None:
            assert weight.grad is None
        else:
            assert weight.grad is not None
            assert float((weight.grad - gradient).abs().max()) <= rounding * largest


@pytest.mark.parametrize("r_drop", [None, 2.0])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_padding_changes_nothing(
    attention: dict[str, Any], scheduled: bool, r_drop: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "MOST", 0)  # computed as it is recorded, but recorded nowhere
    for cell, layers in (("gru", 1), ("lstm", 2)):
        losses = BatchLoss(model_of(attention, cell, layers).double(), 0.1, r_drop)
        recorder = Recorder(losses)
        for batch in batches(4):
            coins = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
            wanted = gradient_of_loss(losses, batch, coins)
            losses.zero_grad()
            assert_like(losses, recorder.add_gradient(batch, coins, bf16=False).item(), wanted, 1e-11)


def test_gradients_of_several_batches_are_summed_until_they_are_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MOST", 0)
    losses = BatchLoss(model_of(BAHDANAU).double(), 0.0)
    recorder, (first, second, third) = Recorder(losses), batches(3)
    losses.zero_grad()
    for batch in (first, second):
        losses(batch, None, 0).smoothed.backward()
    wanted = [weight.grad.clone() for weight in losses.parameters() if weight.grad is not None]
    recorder.add_gradient(third, None, bf16=False)
    losses.zero_grad()
    for batch in (first, second):
        recorder.add_gradient(batch, None, bf16=False)
    found = [weight.grad for weight in losses.parameters() if weight.grad is not None]
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, wanted, strict=True))


def test_a_batch_comes_back_from_one_tensor() -> None:
    for batch in batches(6):
        coins = torch.rand(batch.target_input.shape) < 0.5
        shape, numbers = flat(batch, coins, bf16=True)
        assert (shape.source % SOURCE_STEP, shape.target % TARGET_STEP, shape.bf16) == (0, 0, True)
        again, coins_again = unflat(shape, numbers)
        source, target = batch.source.shape[1], batch.target_input.shape[1]
        assert torch.equal(again.source[:, :source], batch.source)
        assert (again.source[:, source:] == PAD).all()
        assert torch.equal(again.target_input[:, :target], batch.target_input)
        assert torch.equal(again.target_output[:, :target], batch.target_output)
        assert torch.equal(again.places % shape.target, batch.places % target)
        assert torch.equal(again.source_lengths, batch.source_lengths)
        assert coins_again is not None
        assert torch.equal(coins_again[:, :target], coins)


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_only_what_the_shape_decides_about_can_be_recorded(scope: str) -> None:
    assert follows_shape(model_of(BAHDANAU | {"scope": scope})) is (scope == "global")
    assert follows_shape(model_of({"wiring": "none"}))


def test_without_memory_for_recordings_it_goes_on_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = BatchLoss(model_of(BAHDANAU).double(), 0.1)
    recorder, [batch] = Recorder(losses), batches(1)
    wanted = gradient_of_loss(losses, batch, None)
    tried: list[Shape] = []

    def record(shape: Shape, _: Tensor) -> None:
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(recorder, "_record", record)
    for _ in range(4):
        losses.zero_grad()
        assert_like(losses, recorder.add_gradient(batch, None, bf16=False).item(), wanted, 1e-11)
    assert len(tried) == 1


def test_a_batch_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(BatchLoss(model_of(BAHDANAU), 0.1))
    tried: list[Shape] = []

    def compute(shape: Shape, _: Tensor) -> None:
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(recorder, "_compute", compute)
    with pytest.raises(torch.OutOfMemoryError):
        recorder.add_gradient(batches(1)[0], None, bf16=False)
    assert len(tried) == 2  # once more without recordings


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


@needs_gpu
@pytest.mark.parametrize("r_drop", [None, 2.0])
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_recorded_gradients_are_those_of_the_processor(
    attention: dict[str, Any], scheduled: bool, r_drop: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # cuDNN would round to 10 bits
    losses = BatchLoss(model_of(attention), 0.1, r_drop)
    there = deepcopy(losses).cuda()
    recorder = Recorder(there)
    assert Recorder.is_possible(there.model)
    for batch in [*batches(9)] * 3:  # computed, recorded, played back
        coins = torch.rand(batch.target_input.shape) < 0.5 if scheduled else None
        nll, gradients = gradient_of_loss(losses, batch, coins)
        there.zero_grad()
        found = recorder.add_gradient(batch, coins, bf16=False).item()
        assert_like(there, found, (nll, [None if x is None else x.cuda() for x in gradients]), 2e-5)


@needs_gpu
def test_two_recorded_batches_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    losses = BatchLoss(model_of(BAHDANAU), 0.0)
    there, (first, second) = deepcopy(losses).cuda(), batches(2)
    recorder = Recorder(there)
    for batch in (first, second):
        losses(batch, None, 0).smoothed.backward()
    wanted = [weight.grad for weight in losses.parameters() if weight.grad is not None]
    for _ in range(4):
        there.zero_grad()
        for batch in (first, second):
            recorder.add_gradient(batch, None, bf16=False)
        found = [weight.grad.cpu() for weight in there.parameters() if weight.grad is not None]
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


@needs_gpu
def test_dropout_differs_from_one_playback_to_the_next() -> None:
    model = model_of(BAHDANAU)
    model.decoder.dropout.p = 0.5
    losses = BatchLoss(model, 0.1).cuda()
    recorder, [batch] = Recorder(losses), batches(1)
    nll = []
    for _ in range(5):
        losses.zero_grad()
        nll.append(recorder.add_gradient(batch, None, bf16=False).item())
    assert len(set(nll)) == 5
