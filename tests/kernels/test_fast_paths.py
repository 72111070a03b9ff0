"""Whole models: loss and gradients with everything that is written by hand against PyTorch alone; memory of a batch."""

import gc

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
    randomise,
    tiny_model,
)
from support.twins import Made

from nmt.build import build_model
from nmt.data.batching import Example, collate
from nmt.kernels import output_loss, shared, use
from nmt.training.loss import batch_loss

BATCH = collate([Example(list(s), list(t)) for s, t in zip(SOURCES, TARGETS, strict=True)])
OTHER = collate([Example([5], [4, 4, 9]), Example([6, 8, 4], [7])])
LARGE = collate([Example([4 + i % 5] * 29, [4 + i % 5] * 24) for i in range(2)])  # B = 2, S = 30, T = 25
# With the wirings' other axes at their defaults, what the paths' uses differ in: windows, coverage, heads.
CHOSEN = [*WIRINGS, *(v for v in VARIANTS if v.extra in ("coverage", "heads") and v.scope != "local_m")]


def coins():
    return torch.rand(BATCH.target_input.shape, generator=torch.Generator().manual_seed(2)) < 0.5


def loss_and_gradients(model, use_reference=None, batches=(BATCH,)):
    model.zero_grad()
    losses = [batch_loss(model, batch, 0.1, use_reference) for batch in batches]
    for loss in losses:
        loss.smoothed.backward()
    return losses, {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_equal_to_pytorch(model, *arguments, tolerance=1e-10):
    losses, gradients = loss_and_gradients(model, *arguments)
    with use("plain"):
        others, by_autograd = loss_and_gradients(model, *arguments)
    for found, expected in zip(losses, others, strict=True):
        torch.testing.assert_close(found.smoothed, expected.smoothed, rtol=tolerance, atol=0)
        torch.testing.assert_close(found.nll, expected.nll, rtol=tolerance, atol=0)
    for name, expected in by_autograd.items():
        if expected is None:
            assert gradients[name] is None or not gradients[name].any(), name
        else:
            close = {"rtol": tolerance, "atol": tolerance * max(1, expected.abs().max().item())}
            torch.testing.assert_close(
                gradients[name], expected, **close, msg=lambda text, name=name: f"{name}: {text}"
            )


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(output_loss, "CHUNK", 4)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_variants_loss_and_gradients_are_pytorchs(variant):
    assert_equal_to_pytorch(tiny_model(variant))


@pytest.mark.parametrize("variant", CHOSEN, ids=str)
def test_so_they_are_with_two_layers_and_scheduled_sampling(variant):
    assert_equal_to_pytorch(tiny_model(variant, layers=2), coins())


@pytest.mark.parametrize("variant", WIRINGS, ids=str)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("sampling", [True, False])
def test_so_they_are_in_single_precision_and_over_two_batches(variant, layers, sampling):
    model = tiny_model(variant, layers).float()
    use_reference = coins() if sampling else None
    batches = (BATCH,) if sampling else (BATCH, OTHER)
    assert_equal_to_pytorch(model, use_reference, batches, tolerance=2e-5)


@pytest.mark.parametrize("tied", ["target", "all"])
@pytest.mark.parametrize("variant", WIRINGS, ids=str)
def test_so_they_are_with_tied_embeddings(variant, tied):
    width = {"embedding_size": 5} if variant.wiring == "luong" else {}
    model = build_model(config_of(variant, tied_embeddings=tied, **width), SOURCE_TYPES, SOURCE_TYPES).double().eval()
    randomise(model)
    assert_equal_to_pytorch(model)


def nodes(tensor):
    """The names of the operations in a tensor's graph."""
    found, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [following for following, _ in node.next_functions]
    return {node.name() for node in found}


def test_plain_kernels_are_pytorchs_own():
    own = {"_LinearBackward", "_StepBackward", "_SequenceBackward", "_OutputLossBackward"}
    own |= {"_AdditiveScoresBackward", "_InnerProductsBackward", "_WeightedSumsBackward"}
    models = [tiny_model(Variant(wiring, score)) for wiring, score in (("bahdanau", "additive"), ("luong", "general"))]
    assert own <= set().union(*(nodes(batch_loss(model, BATCH, 0.1).smoothed) for model in models))
    with use("plain"):
        plain = set().union(*(nodes(batch_loss(model, BATCH, 0.1).smoothed) for model in models))
    assert plain
    assert not {name for name in plain if name.startswith("_")}


@pytest.mark.parametrize("variant", CHOSEN, ids=str)
@pytest.mark.parametrize("use", ["pass", "no_pass", "no_grad"])
def test_nothing_of_a_batch_stays_in_memory(variant, use):
    """Without the help of the garbage collector, which does not see into a graph."""
    model = tiny_model(variant)
    gc.disable()
    try:
        for _ in range(2):  # an operation's first call in a process leaves cycles of Python's own
            with Made() as made, torch.set_grad_enabled(use != "no_grad"):
                loss = batch_loss(model, BATCH, 0.1).smoothed
                if use == "pass":
                    loss.backward()  # and the loss stays: it must be all that does
                else:
                    del loss
        given = [*vars(BATCH).values(), *([loss] if use == "pass" else [])]
        own = [*model.parameters(), *(p.grad for p in model.parameters() if p.grad is not None)]
        assert len(made.sizes) > 100
        assert made.held(*given, *own) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("variant", WIRINGS, ids=str)
@pytest.mark.parametrize("sampling", [True, False])
def test_the_logits_of_all_tokens_never_exist(variant, sampling):
    types = 1000
    model = build_model(config_of(variant), SOURCE_TYPES, types)
    tokens = LARGE.target_tokens
    never = torch.zeros(LARGE.target_input.shape, dtype=torch.bool) if sampling else None
    with Made() as made:
        batch_loss(model, LARGE, 0.1, never).smoothed.backward()
    largest = max(parameter.numel() for parameter in model.parameters())
    chunk = max(largest, 16 * types)  # no product has fewer than 16 rows
    assert chunk < tokens * types / 2
    assert max(made.sizes) <= chunk


STEP_BY_STEP = [
    v
    for v in VARIANTS
    if (v.wiring == "bahdanau" or v.input_feeding) and v.scope == "global" and v.extra != "coverage" and not v.other
]


@pytest.mark.parametrize("variant", [v for v in STEP_BY_STEP if v.score in ("additive", "dot", "general")], ids=str)
def test_steps_make_no_gradients_of_all_keys_or_values(variant, monkeypatch):
    monkeypatch.setattr(shared, "TOGETHER", 1000)
    model = tiny_model(variant)
    made = {}
    for steps in (10, 20):
        batch = collate([Example([5] * 30, [4] * (steps - 1))] * 2)  # S = 31: nothing else is as large
        _, memory = model.encode(batch.source, batch.source_lengths)
        loss = batch_loss(model, batch, 0.1).smoothed
        with Made() as backward:
            loss.backward()
        made[steps] = sum(backward.count(size) for size in {memory.values.numel(), memory.keys.numel()})
    assert made[10] > 0
    assert made[20] - made[10] == (10 if variant.score == "additive" else 0)  # a query's σ are as many numbers


@pytest.mark.parametrize(
    "variant",
    [
        Variant("luong"),
        *(v for v in VARIANTS if v.wiring == "bahdanau" and v.score in ("additive", "concat") and not v.other),
    ],
    ids=str,
)
def test_no_sums_of_all_queries_and_positions_are_made_or_kept(variant):
    size = 50
    config = config_of(variant)
    config = config.model_copy(update={"attention": config.attention.model_copy(update={"size": size})})
    model = build_model(config, SOURCE_TYPES, SOURCE_TYPES).double()
    (sentences, queries), positions = LARGE.target_input.shape, LARGE.source.shape[1]
    sums = sentences * queries * positions * size
    with Made() as made:
        batch_loss(model, LARGE, 0.1).smoothed.backward()
    assert max(made.sizes) < sums / 4
    if variant.extra != "coverage":  # which makes keys of each query's own
        assert kept(model, LARGE) * 2**20 / 8 < sums / 2
