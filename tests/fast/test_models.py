"""Whole models: loss and gradients of the fast modules against the plain model's; memory of a batch."""

import gc
from copy import deepcopy

import pytest
import torch
from attention_growth import kept
from support.tiny_models import (
    SOURCE_TYPES,
    SOURCES,
    TARGETS,
    VARIANTS,
    WIRINGS,
    Variant,
    config_of,
    each_crossed,
    parametrised,
    randomise,
    tiny_model,
)
from support.twins import Made

from nmt.build import build_model
from nmt.data.batching import Example, collate
from nmt.fast import accelerate, output_loss
from nmt.fast.modules import FASTER, replace_modules
from nmt.training.loss import BatchLoss

BATCH = collate([Example(list(s), list(t)) for s, t in zip(SOURCES, TARGETS, strict=True)])
MASK = torch.rand(BATCH.target_input.shape, generator=torch.Generator().manual_seed(2)) < 0.5
OTHER = collate([Example([5], [4, 4, 9]), Example([6, 8, 4], [7])])
LARGE = collate([Example([4 + i % 5] * 29, [4 + i % 5] * 24) for i in range(2)])  # B = 2, S = 30, T = 25
# With the wirings' other axes at their defaults, what the fast modules differ in: windows, coverage, heads.
SELECTED = [*WIRINGS, *(v for v in VARIANTS if v.extra in ("coverage", "heads") and v.scope != "local_m")]
EVERY_WIRING = pytest.mark.parametrize("variant", **parametrised(WIRINGS))
EVERY_SELECTED = pytest.mark.parametrize("variant", **parametrised(SELECTED))


def fast_losses(model):
    losses = BatchLoss(deepcopy(model), 0.1)
    accelerate(losses, "float32")
    return losses


def results_of(losses, mask, batches):
    values = [losses(batch, mask) for batch in batches]
    for value in values:
        value.smoothed.backward()
    return values, {name: parameter.grad for name, parameter in losses.named_parameters()}


def assert_equal_to_plain(model, mask=None, batches=(BATCH,), tolerance=1e-10):
    fast_values, gradients = results_of(fast_losses(model), mask, batches)
    plain_values, expected = results_of(BatchLoss(model, 0.1), mask, batches)
    torch.testing.assert_close(fast_values, plain_values, rtol=tolerance, atol=0)
    for name, gradient in expected.items():
        if gradient is None:
            assert gradients[name] is None or not gradients[name].any(), name
        else:
            close = {"rtol": tolerance, "atol": tolerance * max(1, gradient.abs().max().item())}
            torch.testing.assert_close(gradients[name], gradient, **close, msg=lambda text, of=name: f"{of}: {text}")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(output_loss, "CHUNK", 4)


@each_crossed(layers=[1, 2], sampling=[False, True])
def test_every_variants_loss_and_gradients_are_the_plain_models(variant, layers, sampling):
    assert_equal_to_plain(tiny_model(variant, layers), MASK if sampling else None)


@EVERY_WIRING
def test_so_they_are_in_single_precision_and_over_two_batches(variant):
    assert_equal_to_plain(tiny_model(variant).float(), MASK, tolerance=2e-5)
    assert_equal_to_plain(tiny_model(variant, 2).float(), None, (BATCH, OTHER), tolerance=2e-5)


@pytest.mark.parametrize("tied", ["target", "all"])
@EVERY_WIRING
def test_so_they_are_with_tied_embeddings(variant, tied):
    width = {"embedding_size": 5} if variant.wiring == "luong" else {}
    model = build_model(config_of(variant, tied_embeddings=tied, **width), SOURCE_TYPES, SOURCE_TYPES).double().eval()
    randomise(model)
    assert_equal_to_plain(model)


@EVERY_SELECTED
def test_all_modules_are_replaced_without_a_change_of_a_parameter_or_a_random_draw(variant):
    model, state = tiny_model(variant), torch.get_rng_state()
    before = deepcopy(model.state_dict())
    replace_modules(model)
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert not any(type(module) in FASTER for module in model.modules())


@EVERY_SELECTED
@pytest.mark.parametrize("use", ["pass", "no_pass", "no_grad"])
def test_nothing_of_a_batch_stays_in_memory(variant, use):
    """Without the help of the garbage collector, which does not see into a graph."""
    losses = fast_losses(tiny_model(variant))
    gc.disable()
    try:
        for _ in range(2):  # an operation's first call in a process leaves cycles of Python's own
            with Made() as made, torch.set_grad_enabled(use != "no_grad"):
                loss = losses(BATCH).smoothed
                if use == "pass":
                    loss.backward()  # and the loss stays: it must be all that does
                else:
                    del loss
        inputs = [*vars(BATCH).values(), *([loss] if use == "pass" else [])]
        weights = [*losses.parameters(), *(p.grad for p in losses.parameters() if p.grad is not None)]
        assert len(made.sizes) > 100
        assert made.held(*filter(torch.is_tensor, inputs), *weights) == 0
    finally:
        gc.enable()


@EVERY_WIRING
@pytest.mark.parametrize("sampling", [True, False])
def test_the_logits_of_all_tokens_never_exist(variant, sampling):
    vocabulary = 1000
    losses = fast_losses(build_model(config_of(variant), SOURCE_TYPES, vocabulary))
    never = torch.zeros(LARGE.target_input.shape, dtype=torch.bool) if sampling else None
    with Made() as made:
        losses(LARGE, never).smoothed.backward()
    largest = max(parameter.numel() for parameter in losses.parameters())
    chunk = max(largest, 16 * vocabulary)  # no product has fewer than 16 rows
    assert max(made.sizes) <= chunk < LARGE.target_tokens * vocabulary / 2


ADDITIVE = [
    Variant("luong"),
    Variant("bahdanau"),
    Variant("bahdanau", scope="local_p"),
    Variant("bahdanau", "concat", "local_m"),
    Variant("bahdanau", extra="coverage"),
]


@pytest.mark.parametrize("variant", **parametrised(ADDITIVE))
def test_no_sums_of_all_queries_and_positions_are_made_or_kept(variant):
    size = 50
    config = config_of(variant)
    attention = config.attention.model_validate(config.attention.model_dump() | {"size": size})
    config = config.model_copy(update={"attention": attention})
    losses = fast_losses(build_model(config, SOURCE_TYPES, SOURCE_TYPES).double())
    (sentences, queries), positions = LARGE.target_input.shape, LARGE.source.shape[1]
    sums = sentences * queries * positions * size
    with Made() as made:
        losses(LARGE).smoothed.backward()
    assert max(made.sizes) < sums / 4
    if variant.extra != "coverage":  # which makes keys of each query's own
        assert kept(losses.model, LARGE) * 2**20 / 8 < sums / 2
