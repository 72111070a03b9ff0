"""Models, batches and comparisons for the tests of `nmt.fast.cuda_graphs`."""

import pytest
import torch

from nmt.build import build_model
from nmt.data.batching import Example, collate
from nmt.fast.modules import replace_modules
from nmt.fast.output_loss import FastBatchLoss
from nmt.fast.sampled_softmax import VocabularySampler
from support.tiny_models import ENDS, SOURCE_TYPES, TARGET_TYPES, Variant, config_of

BAHDANAU = Variant("bahdanau")
VARIANTS = [
    BAHDANAU,
    Variant("bahdanau", extra="coverage"),
    Variant("luong", "general"),
    Variant("luong", "dot", input_feeding=True),
    Variant("luong", "general", extra="heads"),
    Variant("none"),
]


def model_of(variant, layers=1):
    """In training mode, but without dropout."""
    torch.manual_seed(1)
    model = build_model(config_of(variant, layers), SOURCE_TYPES, TARGET_TYPES, ENDS).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        elif isinstance(module, torch.nn.RNNBase):
            module.dropout = 0.0
    return model


def losses_of(model, sampled=None):
    """The fast losses, with the tokens of a sampled softmax on the model's device."""
    losses = FastBatchLoss(model, 0.1)
    replace_modules(model)
    if sampled is not None:
        losses.sampler = VocabularySampler(torch.ones(TARGET_TYPES, device=model.device), sampled)
    return losses


def batches(count):
    """Batches of five sentences, whose longest ones differ."""
    generator = torch.Generator().manual_seed(2)

    def ids(types, length):
        return torch.randint(4, types, (length,), generator=generator).tolist()

    return [
        collate([Example(ids(SOURCE_TYPES, 1 + (n + i) % 8), ids(TARGET_TYPES, 1 + (3 * n + i) % 9)) for i in range(5)])
        for n in range(count)
    ]


def gradient_of_loss(losses, batch, mask):
    """The NLL and the gradient as they are computed without a runner."""
    losses.zero_grad()
    loss = losses(batch, mask)
    loss.smoothed.backward()
    return loss.nll.item(), [None if weight.grad is None else weight.grad.clone() for weight in losses.parameters()]


def assert_like(losses, actual, expected, rounding):
    nll, gradients = expected
    assert actual == pytest.approx(nll, rel=rounding)
    largest = max(float(gradient.abs().max()) for gradient in gradients if gradient is not None)
    for weight, gradient in zip(losses.parameters(), gradients, strict=True):
        if gradient is None:
            assert weight.grad is None
        else:
            assert float((weight.grad - gradient).abs().max()) <= rounding * largest
