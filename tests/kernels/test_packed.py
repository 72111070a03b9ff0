"""Packed linear layers against the layers that they are made of."""

import numpy as np
import pytest
import torch
from support.tiny_models import EACH_ONCE, parametrised, tiny_model
from torch import nn

from nmt.kernels.linear import Linear
from nmt.kernels.packed import lay_out_now, packed, taken, with_outputs
from nmt.kernels.switch import Kernels, use


def test_products_are_those_of_the_layers_and_the_layers_are_left_alone() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(7, 33), nn.Tanh(), nn.Linear(33, 5, bias=False))
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.inference_mode():
        copy = packed(module)
        for shape in ((1, 7), (64, 7), (131, 7), (3, 2, 7), (2, 3, 4, 7)):
            inputs = torch.randn(shape)
            torch.testing.assert_close(copy(inputs), module(inputs), rtol=0, atol=1e-6)
    assert type(module[0]) is nn.Linear
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert type(copy[0]) is not nn.Linear


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_what_is_packed_stays_as_it_is(precision: str) -> None:
    module = nn.Sequential(nn.Linear(7, 33), nn.Tanh())
    once = packed(module, precision)
    assert once is not module
    assert packed(once, precision) is once


@pytest.mark.parametrize("kernels", ["fast", "plain"])
@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
@pytest.mark.parametrize("before", ["float32", "bf16", "int8"])
def test_what_is_packed_for_another_precision_is_packed_anew(precision: str, before: str, kernels: Kernels) -> None:
    module = tiny_model(EACH_ONCE[0], layers=1, seed=3).float().eval().decoder
    inputs = torch.randn(5, module.output.in_features)
    with torch.inference_mode(), use(kernels):
        expected = packed(module, precision).output(inputs)
        first = packed(module, before)
        first.output(inputs)  # lays out its weights
        assert torch.equal(packed(first, precision).output(inputs), expected)


@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
@pytest.mark.parametrize("layers", [1, 2])
def test_a_packed_decoder_takes_the_decoders_steps(variant, layers) -> None:
    model = tiny_model(variant, layers, seed=3).float().eval()
    source = torch.tensor([[4, 5, 6, 3], [7, 8, 3, 1]])
    with torch.inference_mode():
        state, memory = model.encode(source, torch.tensor([4, 3]))
        copy = packed(model.decoder)
        assert copy.embedding.weight is model.decoder.embedding.weight
        other_state = state
        for token in (2, 5, 7):
            tokens = torch.full((2,), token)
            readout, state, alignment = model.decoder.step(model.decoder.embed(tokens), state, memory)
            other, other_state, other_alignment = copy.step(copy.embed(tokens), other_state, memory)
            torch.testing.assert_close(other_alignment.weights, alignment.weights, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(copy.logits(other), model.decoder.logits(readout), rtol=1e-5, atol=1e-5)


def test_bfloat16_products_are_the_layers_but_for_their_rounding() -> None:
    torch.manual_seed(0)
    module = nn.Linear(512, 300)
    inputs = torch.randn(70, 512)
    with torch.inference_mode():
        exact, rounded = module(inputs), packed(nn.Sequential(module), "bf16")(inputs)
        factors = nn.functional.linear(inputs.bfloat16().double(), module.weight.bfloat16().double())
    assert rounded.dtype == torch.float32
    # Sums are float32: all that is rounded behind the factors are the bias and the result, to 8 bits.
    torch.testing.assert_close(rounded.double(), factors + module.bias.double(), rtol=2**-8, atol=2**-12)
    assert 1e-3 < (rounded - exact).norm() / exact.norm() < 1e-2


@pytest.mark.parametrize("bias", [True, False])
def test_8_bit_products_are_those_of_whole_numbers(bias: bool) -> None:
    torch.manual_seed(0)
    module = nn.Linear(512, 300, bias=bias)
    inputs = torch.randn(70, 512) * torch.logspace(-30, 6, 70).unsqueeze(1)
    with torch.no_grad():
        module.weight[7], inputs[5] = 0, 0
    shift = module.bias.detach().double().numpy() if bias else 0
    x, w = inputs.double().numpy(), module.weight.detach().double().numpy()
    x_scale, w_scale = (np.abs(rows).max(axis=1, keepdims=True) / 127 for rows in (x, w))
    x_scale[5], w_scale[7] = 1, 1  # of rows of zeros
    sums = np.rint(x / x_scale).astype(int) @ np.rint(w / w_scale).astype(int).T
    with torch.inference_mode():
        layer = packed(nn.Sequential(module), "int8")
        outputs = layer(inputs)
        alone = torch.cat([layer(row.unsqueeze(0)) for row in inputs])
    assert outputs.dtype == torch.float32
    assert torch.equal(outputs, alone)
    product = sums * x_scale * w_scale.T
    assert (np.abs(outputs.double().numpy() - product - shift) <= 1e-6 * (np.abs(product) + np.abs(shift))).all()
    errors = np.linalg.norm(product - x @ w.T, axis=1) / np.linalg.norm(x @ w.T, axis=1).clip(1e-99)
    assert 1e-3 < np.median(errors) < 2e-2


def test_where_there_are_no_kernels_the_module_is_its_own_copy() -> None:
    module = nn.Linear(3, 2).double()
    assert packed(module) is module


def test_8_bit_products_of_a_bounded_layer_have_one_scale_for_all_rows() -> None:
    torch.manual_seed(0)
    layer = Linear(512, 300)
    layer.bounded = True
    inputs = torch.randn(70, 512).tanh()
    inputs[3], inputs[4] = 1, -1
    x, w = inputs.double().numpy(), layer.weight.detach().double().numpy()
    w_scale = np.abs(w).max(axis=1, keepdims=True) / 127
    sums = np.rint(x * 127).astype(int) @ np.rint(w / w_scale).astype(int).T
    with torch.inference_mode():
        copy = packed(nn.Sequential(layer), "int8")
        np.testing.assert_allclose(copy(inputs).numpy(), sums / 127 * w_scale.T, rtol=1e-5, atol=1e-5)
        error = (copy(inputs) - layer(inputs)).norm() / layer(inputs).norm()
    assert 1e-4 < error < 1e-2


@pytest.mark.parametrize("kernels", ["fast", "plain"])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_what_is_taken_of_a_layer_is_a_part_of_its_outputs(precision: str, bounded: bool, kernels: Kernels) -> None:
    torch.manual_seed(0)
    layer = Linear(40, 90)
    layer.bounded = bounded
    nn.init.normal_(layer.bias)
    inputs, places = torch.randn(6, 40).tanh(), torch.tensor([[3, 80, 7], [5, 3, 89]])

    def of_each(outputs: torch.Tensor) -> torch.Tensor:
        """Other ones for the first three rows than for the others."""
        outputs = outputs.expand(max(2, len(outputs)), -1).unflatten(0, (2, -1))
        return outputs.gather(2, places.unsqueeze(1).expand(-1, outputs.shape[1], -1)).flatten(0, 1)

    choices = (of_each, lambda outputs: outputs[:, -5:])
    with torch.inference_mode(), use(kernels):
        [copy] = packed(nn.Sequential(layer), precision)
        for found, choose in zip(taken(copy, inputs, choices), choices, strict=True):
            torch.testing.assert_close(found, choose(copy(inputs)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kernels", ["fast", "plain"])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_layer_that_takes_over_factors_is_the_one_that_computes_them(bounded: bool, kernels: Kernels) -> None:
    torch.manual_seed(0)
    layer, other = Linear(40, 600), Linear(40, 7)
    layer.bounded = bounded
    nn.init.normal_(layer.bias)
    inputs, rows = torch.randn(6, 40).tanh(), torch.arange(0, 600, 5)
    with torch.inference_mode(), use(kernels):
        [early], [late] = (packed(nn.Sequential(layer), "int8") for _ in range(2))
        lay_out_now(early, limited=early)
        found, expected = (with_outputs(each, rows, (1, 2), [other])(inputs) for each in (early, late))
        every = late(inputs)
        assert torch.equal(found, expected)
    assert found.shape == (6, 256)
    assert torch.isneginf(found[:, 1:3]).all()
    torch.testing.assert_close(found[:, 3 : len(rows)], every[:, rows[3:]], rtol=0, atol=1e-6)
    torch.testing.assert_close(found[:, -7:], other(inputs), rtol=0, atol=0.05)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_layers_are_laid_out_at_once_but_for_what_limited_layers_do_not_take_over(precision: str) -> None:
    module = packed(nn.Sequential(nn.Linear(7, 33), nn.Tanh(), nn.Linear(33, 5)), precision)
    first, _, last = module
    assert "factors" not in {**vars(first), **vars(last)}
    with torch.inference_mode():
        lay_out_now(module, limited=last)
    assert "factors" in vars(first)
    assert ("factors" in vars(last)) == (precision == "int8")
