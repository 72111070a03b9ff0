"""Products of whole numbers in training: exact sums, one rounding of a weight, and gradients drawn or in float32."""

import pytest
import torch
import torch.nn.functional as F
from support.attention_cases import draw

from nmt.kernels import byte_products, private
from nmt.kernels.byte_products import drawn_in_bytes, gradients_in_bytes, in_bytes
from nmt.kernels.dropout import drawing_from
from nmt.kernels.linear import linear, multiply, weight_gradient
from nmt.kernels.output_loss import output_loss, plain_output_loss
from nmt.kernels.precision import products_in


@pytest.fixture(autouse=True)
def _small_weights_are_enough(monkeypatch):
    monkeypatch.setattr(byte_products, "ENOUGH", 1)


def nearest(matrix):
    """Each row's nearest whole multiples of 1/127 of its largest absolute value, and that step."""
    steps = matrix.abs().max(dim=1, keepdim=True).values / 127
    return (matrix / steps).round().double() * steps, steps.double()


@pytest.mark.parametrize("rows", [1, 5, 64, 300, 700])
@pytest.mark.parametrize("biased", [False, True])
def test_a_product_forward(rows, biased):
    inputs, weight = draw(rows, 40).float(), draw(24, 40, seed=1).float()
    bias = draw(24, seed=2).float() if biased else None
    with products_in("int8"):
        found = multiply(inputs, weight.t(), bias)
    expected = nearest(inputs)[0] @ nearest(weight)[0].t() + (0 if bias is None else bias)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    exact = F.linear(inputs, weight, bias)
    assert 0 < (found - exact).norm() < 0.01 * exact.norm()


def test_a_product_backward_has_the_same_whole_numbers_of_the_weight():
    gradients, weight = draw(30, 24).float(), draw(24, 40, seed=1).float()
    with products_in("int8"):
        found = multiply(gradients, weight)
    of_weight, steps = nearest(weight)
    expected = nearest(gradients * steps.float().t())[0] @ (of_weight / steps)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    exact = gradients @ weight
    assert 0 < (found - exact).norm() < 0.02 * exact.norm()


def test_a_changed_weight_is_rounded_anew_in_the_next_block():
    rows, weight = draw(5, 24).float(), draw(24, 7, seed=1).float()
    found = []
    for _ in range(2):
        with products_in("int8"):
            found.append([multiply(rows, weight) for _ in range(2)])
        weight.mul_(2)
    (first, again), (changed, _) = found
    assert torch.equal(first, again)
    assert torch.equal(2 * first, changed)
    assert not torch.equal(changed, rows @ (weight / 2))


def test_gradients_of_a_weight_are_those_of_float32():
    inputs, weight, bias = (draw(*shape).float().requires_grad_() for shape in ((300, 40), (24, 40), (24,)))
    wanted = draw(300, 24, seed=3).float()
    gradients = []
    for precision in ("float32", "int8"):
        with products_in(precision):
            outputs = linear(inputs, weight, bias)
            gradients.append(torch.autograd.grad(outputs, [inputs, weight, bias], wanted))
    (of_inputs, of_weight, of_bias), (rounded, *others) = gradients
    assert torch.equal(of_weight, others[0])
    assert torch.equal(of_bias, others[1])
    assert 0 < (rounded - of_inputs).norm() < 0.02 * of_inputs.norm()
    with products_in("int8"):
        assert torch.equal(weight_gradient(inputs, wanted), of_weight)


@pytest.mark.parametrize("transposed", [False, True])
def test_without_8_bit_products_the_bits_are_the_same(transposed, monkeypatch):
    rows, weight, bias = draw(70, 24).float(), draw(24, 24, seed=1).float(), draw(24, seed=2).float()
    right = weight.t() if transposed else weight
    found = []
    for has_byte_product in (private.has_byte_product(), False):
        monkeypatch.setattr(private, "has_byte_product", lambda answer=has_byte_product: answer)
        with products_in("int8"):
            found.append(multiply(rows, right, bias))
    assert torch.equal(*found)
    assert not torch.equal(found[0], torch.addmm(bias, rows, right))


@pytest.mark.parametrize("transposed", [False, True])
def test_a_part_of_a_weight(transposed):
    """It is not contiguous, and is rounded for each direction."""
    rows, weight = draw(30, 12).float(), draw(24, 40, seed=1).float()
    right = weight[:, 20:32].t() if transposed else weight[:12, 5:25]
    with products_in("int8"):
        found = multiply(rows, right)
    exact = rows @ right
    assert 0 < (found - exact).norm() < 0.02 * exact.norm()


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_what_is_not_finite_stays_so(wrong):
    rows, weight = draw(20, 24).float(), draw(24, 7, seed=1).float()
    rows[3, 5] = wrong
    with products_in("int8"):
        for right in (weight, weight.t().contiguous().t()):
            finite = multiply(rows, right).isfinite().all(dim=1)
            assert finite.sum() == 19
            assert not finite[3]


def test_rows_of_zeros_and_tiny_ones():
    rows, weight = draw(3, 24).float(), draw(24, 7, seed=1).float()
    rows[0], rows[1] = 0, rows[2] * 1e-30
    with products_in("int8"):
        found = multiply(rows, weight)
    assert not found[0].any()
    torch.testing.assert_close(found[1] * 1e30, found[2], rtol=0.01, atol=0.01)


def test_numbers_are_drawn_that_are_right_in_the_mean():
    rows = draw(6, 9).float()
    rows[2] = 0
    steps = rows.abs().max(dim=1, keepdim=True).values / 127
    wanted = (rows / steps).nan_to_num()
    found = []
    for seed in range(900):
        numbers, scales = drawn_in_bytes(rows.clone(), torch.Generator().manual_seed(seed))
        found.append(numbers.double())
        assert (numbers - wanted).abs().max() < 1.01
        assert numbers.min() >= -127
        torch.testing.assert_close(scales[:2], steps[:2, 0], rtol=1e-4, atol=0)
    found = torch.stack(found)
    assert (found[:, :2].abs().amax(dim=2) >= 126).all()
    assert (found.mean(dim=0) - wanted).abs().max() < 5 * 0.5 / 30  # standard deviations are at most a half
    assert found.std(dim=0).max() > 0.4


def test_small_numbers_count_that_would_be_rounded_to_0():
    """As the probabilities of thousands of types beside the reference's."""
    rows = torch.full((512, 6001), 1 / 6000)
    rows[:, 0] = -1
    assert not in_bytes(rows)[0][:, 1:].any()
    means = []
    for seed in range(20):
        drawn, scales = drawn_in_bytes(rows.clone(), torch.Generator().manual_seed(seed))
        sums = drawn[:, 1:].sum(dim=1) * scales.double()
        assert 0.07 < sums.std() < 0.11  # (1/127)^½ = 0.089
        means.append(sums.mean())
    means = torch.stack(means)
    assert means.std() < 0.02  # of independent rows 0.004, of rows with the same draws 0.089
    assert (means.mean() - 1).abs() < 5 * 0.02 / 20**0.5


@pytest.mark.parametrize("drawn", [0.0, 1 - 2**-24])
def test_no_number_is_beyond_127_whatever_is_drawn(drawn, monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda count, **_: torch.full((count,), drawn))
    rows = draw(2000, 3).float()
    numbers, _ = drawn_in_bytes(rows.clone(), None)
    assert (numbers.sign() * rows.sign() >= 0).all()
    assert set(numbers.abs().amax(dim=1).tolist()) <= {126, 127}


@pytest.mark.parametrize("sign", [1, -1])
def test_tiny_numbers_are_drawn_without_a_bias(sign):
    """The largest number and its draw must stay below 128; the room for that may not be taken from the draws."""
    rows = torch.full((2, 300_000), sign * 1e-6)
    rows[:, 0] = -sign
    total = 0
    for seed in range(40):
        drawn, _ = drawn_in_bytes(rows.clone(), torch.Generator().manual_seed(seed))
        assert set((-sign * drawn[:, 0]).tolist()) <= {126, 127}
        total += sign * int(drawn[:, 1:].sum())
    expected = 40 * 2 * 299_999 * 127e-6
    assert abs(total - expected) < 0.13 * expected  # five standard deviations: each draw serves both rows


def test_gradients_of_an_output_layer_are_products_of_drawn_numbers(monkeypatch):
    inputs, weight, gradients = draw(64, 8).float(), draw(30, 8, seed=1).float(), draw(64, 30, seed=2).float()
    weight[3] = 0  # which a gradient must be able to change
    numbers, scales = drawn_in_bytes(gradients.clone(), torch.Generator().manual_seed(5))
    drawn = numbers.double() * scales.unsqueeze(1)
    with products_in("int8"):
        of_inputs, of_weight = gradients_in_bytes(inputs, gradients.clone(), weight, torch.Generator().manual_seed(5))
    expected = drawn @ nearest(weight.t())[0].t()
    torch.testing.assert_close(of_inputs.double(), expected, rtol=1e-5, atol=1e-5)
    of_columns = nearest((inputs * scales.unsqueeze(1)).t())[0]
    torch.testing.assert_close(of_weight.double(), numbers.double().t() @ of_columns.t(), rtol=1e-5, atol=1e-5)
    for found, exact in ((of_inputs, gradients @ weight), (of_weight, gradients.t() @ inputs)):
        assert 0 < (found - exact).norm() < 0.03 * exact.norm()
    assert of_weight[3].all()
    monkeypatch.setattr(private, "has_byte_product", lambda: False)
    with products_in("int8"):
        others = gradients_in_bytes(inputs, gradients.clone(), weight, torch.Generator().manual_seed(5))
    assert all(map(torch.equal, (of_inputs, of_weight), others))


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_gradients_of_an_output_layer_that_are_not_finite_stay_so(wrong):
    inputs, weight, gradients = draw(64, 8).float(), draw(30, 8, seed=1).float(), draw(64, 30, seed=2).float()
    gradients[3, 5] = wrong
    with products_in("int8"):
        of_inputs, of_weight = gradients_in_bytes(inputs, gradients, weight, None)
    assert of_inputs.isfinite().all(dim=1).sum() == 63
    assert not of_inputs[3].isfinite().any()
    assert not of_weight.isfinite().any()


@pytest.mark.parametrize("r_drop", [None, 3.0])
@pytest.mark.parametrize("others", [None, 6.0])
@pytest.mark.parametrize("tokens", [40, 702])  # one chunk, or two
def test_the_output_layer_s_loss(r_drop, others, tokens):
    features, weight, bias = draw(tokens, 8).float(), draw(30, 8, seed=1).float(), draw(30, seed=2).float()
    targets = torch.arange(tokens) % (30 if others is None else 20)
    stand_for = None if others is None else torch.tensor([1.0] * 20 + [others] * 10)
    leaves = [x.requires_grad_() for x in (features, weight, bias)]

    def found(seed):
        with products_in("int8"), drawing_from(torch.Generator().manual_seed(seed)):
            loss = output_loss(*leaves, targets, 0.1, r_drop, stand_for=stand_for)
        return loss, torch.autograd.grad(loss.smoothed, leaves)

    with torch.no_grad():
        of_weight, steps = nearest(weight.t())
        whole = nearest(features * steps.float().t())[0] @ (of_weight / steps) + bias
    logits = whole.float().requires_grad_()
    expected = plain_output_loss(logits, torch.eye(30), torch.zeros(30), targets, 0.1, r_drop, None, stand_for)
    [gradient] = torch.autograd.grad(expected.smoothed, logits)
    by_hand = gradient @ weight, gradient.t() @ features, gradient.sum(dim=0)
    losses, gradients = zip(*map(found, range(40)), strict=True)
    for loss in losses:
        torch.testing.assert_close(loss.nll, expected.nll, rtol=1e-5, atol=0)
        torch.testing.assert_close(loss.smoothed, expected.smoothed, rtol=1e-4, atol=0)
    for *drawn, exact in zip(*gradients, by_hand, strict=True):
        mean = torch.stack(drawn).mean(dim=0)
        assert (mean - exact).norm() < 0.01 * exact.norm()
    torch.testing.assert_close(gradients[0][2], by_hand[2], rtol=1e-4, atol=1e-4)
    again, other = found(0)[1], found(1)[1]
    assert all(map(torch.equal, again, gradients[0]))
    assert not torch.equal(again[0], other[0])


def test_no_token_has_no_loss():
    leaves = [draw(*shape).float().requires_grad_() for shape in ((0, 8), (30, 8), (30,))]
    with products_in("int8"):
        loss = output_loss(*leaves, torch.zeros(0, dtype=torch.long), 0.1)
    assert loss.nll == loss.smoothed == 0
    assert not any(gradient.any() for gradient in torch.autograd.grad(loss.smoothed, leaves))


def test_small_weights_are_left_to_float32(monkeypatch):
    monkeypatch.setattr(byte_products, "ENOUGH", 24 * 40 + 1)
    rows, weight = draw(5, 40).float(), draw(24, 40, seed=1).float()
    with products_in("int8"):
        assert torch.equal(multiply(rows, weight.t()), rows @ weight.t())
