"""tanh by σ against `torch.tanh`, the numbers of float64 and finite differences."""

import pytest
import torch
from support.attention_cases import draw
from support.twins import LAYOUTS, assert_twins

from nmt.kernels.switch import use
from nmt.kernels.tanh import tanh, tanh_

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


@EVERY_LAYOUT
@pytest.mark.parametrize("sizes", [(4, 3), (1, 1), (0, 3), (2, 3, 5)], ids=str)
def test_values_and_gradients_are_pytorchs(sizes, layout):
    if sizes[0] or layout != "expanded":
        assert_twins(tanh, torch.tanh, [3 * draw(*sizes)], LAYOUTS[layout])


@EVERY_LAYOUT
def test_gradients_are_those_of_finite_differences(layout):
    of = LAYOUTS[layout]
    assert torch.autograd.gradcheck(lambda x: of(tanh(of(x))), [draw(2, 3).requires_grad_()])


def test_float32_results_are_as_near_as_is_said_and_never_beyond_1():
    numbers = torch.cat([torch.linspace(-20, 20, 400_001), torch.logspace(-12, 38, 1000), torch.tensor([torch.inf])])
    numbers = torch.cat([numbers, -numbers])
    found = tanh(numbers)
    assert (found.double() - numbers.double().tanh()).abs().max() < 2e-7
    assert found.abs().max() == 1
    assert torch.equal(tanh_(numbers.clone()), found)
    assert tanh(torch.tensor([torch.nan])).isnan()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_is_pytorchs_of_numbers_with_few_bits(dtype):
    numbers = torch.linspace(-2, 2, 1001).to(dtype)
    assert torch.equal(tanh(numbers), numbers.tanh())


def test_it_is_pytorchs_with_plain_kernels():
    numbers = torch.linspace(-2, 2, 1001)
    with use("plain"):
        assert torch.equal(tanh(numbers), numbers.tanh())
    assert not torch.equal(tanh(numbers), numbers.tanh())
