"""Models, batches and comparisons for the tests of `nmt.fast.cuda_graphs`."""

from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Batch, Example, collate
from nmt.fast.modules import replace_modules
from nmt.fast.output_loss import FastBatchLoss
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.model.seq2seq import Seq2Seq

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


def losses_of(model: Seq2Seq, sampled: int | None = None) -> FastBatchLoss:
    """The fast losses, with the tokens of a sampled softmax on the model's device."""
    losses = FastBatchLoss(model, 0.1)
    replace_modules(model)
    if sampled is not None:
        losses.sampler = VocabularySampler(torch.ones(len(model.decoder.output.weight), device=model.device), sampled)
    return losses


def batches(count: int) -> list[Batch]:
    """Batches of five sentences, whose longest ones differ."""
    generator = torch.Generator().manual_seed(2)

    def ids(types: int, length: int) -> list[int]:
        return torch.randint(4, types, (length,), generator=generator).tolist()

    return [
        collate([Example(ids(TYPES[0], 1 + (n + i) % 8), ids(TYPES[1], 1 + (3 * n + i) % 9)) for i in range(5)])
        for n in range(count)
    ]


def gradient_of_loss(losses: FastBatchLoss, batch: Batch, mask: Tensor | None) -> tuple[float, list[Tensor | None]]:
    """The NLL and the gradient as they are computed without a runner."""
    losses.zero_grad()
    loss = losses(batch, mask)
    loss.smoothed.backward()
    return loss.nll.item(), [None if weight.grad is None else weight.grad.clone() for weight in losses.parameters()]


def assert_like(
    losses: FastBatchLoss, actual: float, expected: tuple[float, list[Tensor | None]], rounding: float
) -> None:
    nll, gradients = expected
    assert actual == pytest.approx(nll, rel=rounding)
    largest = max(float(gradient.abs().max()) for gradient in gradients if gradient is not None)
    for weight, gradient in zip(losses.parameters(), gradients, strict=True):
        if gradient is None:
            assert weight.grad is None
        else:
            assert weight.grad is not None
            assert float((weight.grad - gradient).abs().max()) <= rounding * largest
