"""PyTorch's private functions: where one is missing, changed or wrong, its plain twin runs, and one line says so."""

import re
from types import SimpleNamespace

import pytest
import torch
from support.attention_cases import draw
from support.tiny_models import SOURCES, TARGETS, Variant, tiny_model

from nmt.data.batching import Example, collate
from nmt.fast import accelerate
from nmt.fast import torch_internals as private
from nmt.fast.inference import PackedBFloat16Linear, PackedInt8Linear, PackedLinear
from nmt.fast.products import linear, products_in
from nmt.training.loss import BatchLoss

PROBES = (private.has_product, private.has_blocks, private.has_byte_product, private.has_backward_passes)
BATCH = collate([Example(list(s), list(t)) for s, t in zip(SOURCES, TARGETS, strict=True)])
# On a CPU with AVX2 alone oneDNN has no bfloat16 product, and sums of 8-bit products saturate: neither is a fault.
HAS_BFLOAT16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
MKLDNN = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")


@pytest.fixture(autouse=True)
def _tried_anew():
    """Each test begins, and leaves, without the results of earlier trials."""
    forget()
    yield
    forget()


def forget():
    for probe in PROBES:
        probe.cache_clear()
    private._REPORTED.clear()


def missing(*_arguments):
    raise AttributeError("no such function")


def other_signature(_only_one):
    raise AssertionError("it takes one argument")


OPERATORS = {name: getattr(torch.ops.mkldnn, name) for name in MKLDNN}
WRONG = {
    "_linear_pointwise": lambda *arguments: 1 + OPERATORS["_linear_pointwise"](*arguments),
    "_reorder_linear_weight": lambda weight, _: 2 * weight,
    "_int_mm": lambda one, other: (one.short() @ other.short()).int(),
    "_current_graph_task_id": lambda: None,
}
TROUBLES = {"missing": "is missing", "signature": "fails (TypeError)", "wrong": "gives other numbers than expected"}


def replace(monkeypatch, name, function):
    if name in OPERATORS:
        operators = {other: f for other, f in (OPERATORS | {name: function}).items() if f is not missing}
        monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(**operators))
    elif function is missing:
        monkeypatch.delattr(torch if name == "_int_mm" else torch._C, name)
    else:
        monkeypatch.setattr(torch if name == "_int_mm" else torch._C, name, function)


def all_products():
    """Values of layers, of their packed forms and of a training step's loss and gradients."""
    inputs, weight, bias = draw(30, 40).float(), draw(20, 40, seed=2).float() / 10, draw(20, seed=3).float() / 10
    results = {"linear": linear(inputs, weight, bias)}
    with torch.inference_mode():
        with products_in("bf16"):
            results["linear in bf16"] = linear(inputs, weight, bias)
        kinds = {"float32": PackedLinear, "bf16": PackedBFloat16Linear, "int8": PackedInt8Linear}
        results |= {precision: kind(weight, bias)(inputs) for precision, kind in kinds.items()}
    losses = BatchLoss(tiny_model(Variant("luong", "additive", "local_p", input_feeding=True)).float(), 0.1)
    accelerate(losses, "float32")
    loss = losses(BATCH).smoothed
    loss.backward()
    named = losses.model.named_parameters()
    results |= {"loss": loss} | {name: p.grad for name, p in named if p.grad is not None}
    return {name: value.detach().clone() for name, value in results.items()}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("function", WRONG)
def test_the_plain_twin_runs_and_one_line_says_so(function, trouble, monkeypatch, capsys):
    expected = all_products()
    assert not capsys.readouterr().err
    forget()
    replace(
        monkeypatch, function, {"missing": missing, "signature": other_signature, "wrong": WRONG[function]}[trouble]
    )
    results = all_products()
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(rf"nmt: torch\.(\S+\.)?{function} {re.escape(TROUBLES[trouble])}.* in PyTorch \d", line)
    for name, value in expected.items():
        close = {"rtol": 2**-6, "atol": 2**-6} if "bf16" in name else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(results[name], value, **close)
    all_products()
    assert not capsys.readouterr().err


def test_a_cpu_without_bfloat16_products_or_with_saturating_sums_is_no_fault(monkeypatch, capsys):
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(_is_mkldnn_bf16_supported=lambda: False))
    monkeypatch.setattr(torch, "_int_mm", saturating)
    assert not private.has_product(torch.bfloat16)
    assert not private.has_blocks(torch.bfloat16)
    assert not private.has_byte_product()
    assert not capsys.readouterr().err


def saturating(left, right):
    """Products of a CPU without VNNI: left + 128 times right, summed in pairs that are cut off at 16 bits."""
    products = (left.int() + 128).unsqueeze(2) * right.int()
    pairs = products.unflatten(1, (-1, 2)).sum(2).clamp(-(2**15), 2**15 - 1)
    return pairs.sum(1, dtype=torch.int32) - 128 * right.sum(0, dtype=torch.int32)
