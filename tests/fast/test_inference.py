"""Models prepared for search against the models that they are made of."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.tiny_models import EACH_ONCE, parametrised, tiny_model
from torch import nn

from nmt.decoding.ensemble import Ensemble
from nmt.fast import prepare_for_inference
from nmt.fast.inference import PackedBFloat16Linear, PackedInt8Linear, PackedLinear
from nmt.system.errors import UserError


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
def test_a_prepared_model_takes_the_models_steps(variant, precision) -> None:
    model = tiny_model(variant, layers=2, seed=3).float().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    source, lengths = torch.tensor([[4, 5, 6, 3], [7, 8, 3, 1]]), torch.tensor([4, 3])
    close = {"float32": 1e-5, "bf16": 0.05, "int8": 0.1}[precision]
    with torch.inference_mode():
        other = prepare_for_inference(model, precision)
        state, memory = model.encode(source, lengths)
        other_state, other_memory = other.encode(source, lengths)
        for token in (2, 5, 7):
            tokens = torch.full((2,), token)
            expected, state = model.step(tokens, state, memory)
            found, other_state = other.step(tokens, other_state, other_memory)
            torch.testing.assert_close(found, expected, rtol=close, atol=close)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert not any(type(module).__module__.startswith("nmt.fast") for module in model.modules())
    assert {p.data_ptr() for p in other.parameters()} == {p.data_ptr() for p in model.parameters()}


def test_what_is_prepared_or_double_stays_and_every_member_of_an_ensemble_is_prepared() -> None:
    double, *models = (tiny_model(EACH_ONCE[0], seed=seed) for seed in range(3))
    prepared = prepare_for_inference(Ensemble([model.float() for model in models]), "int8")
    assert all(any(isinstance(module, PackedInt8Linear) for module in member.modules()) for member in prepared.members)
    for model in (double, *prepared.members):
        assert prepare_for_inference(model, "float32") is model
    with pytest.raises(UserError, match=r"search\.precision: int8 needs a CPU, and this device is meta"):
        prepare_for_inference(double.to("meta"), "int8")


@pytest.mark.parametrize("kind", [PackedLinear, PackedBFloat16Linear, PackedInt8Linear])
@pytest.mark.parametrize("bias", [True, False])
def test_products_are_the_layers_but_for_their_rounding(kind: type[PackedLinear], bias: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(512, 300, bias=bias)
    packed = kind(layer.weight, layer.bias)
    with torch.inference_mode():
        for shape in ((1, 512), (131, 512), (3, 2, 512)):
            inputs = torch.randn(shape)
            exact, outputs = layer(inputs), packed(inputs)
            assert outputs.dtype == torch.float32
            error = ((outputs - exact).norm() / exact.norm()).item()
            assert error < 1e-5 if kind is PackedLinear else 1e-3 < error < 2e-2
            if kind is PackedBFloat16Linear:  # the sums are float32: rounded are factors, bias and result, to 8 bits
                products = F.linear(inputs.bfloat16().double(), layer.weight.bfloat16().double())
                exact = products if layer.bias is None else products + layer.bias.double()
                torch.testing.assert_close(outputs.double(), exact, rtol=2**-8, atol=2**-12)


@pytest.mark.parametrize("bias", [True, False])
def test_8_bit_products_are_those_of_integers(bias: bool) -> None:
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
        layer = PackedInt8Linear(module.weight, module.bias)
        outputs = layer(inputs)
        alone = torch.cat([layer(row.unsqueeze(0)) for row in inputs])
    assert torch.equal(outputs, alone)
    product = sums * x_scale * w_scale.T
    assert (np.abs(outputs.double().numpy() - product - shift) <= 1e-6 * (np.abs(product) + np.abs(shift))).all()
    errors = np.linalg.norm(product - x @ w.T, axis=1) / np.linalg.norm(x @ w.T, axis=1).clip(1e-99)
    assert 1e-3 < np.median(errors) < 2e-2
