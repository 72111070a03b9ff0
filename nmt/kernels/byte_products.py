"""Products of whole numbers to ±127: their sums are exact, and scales make float32 numbers of them.

With VNNI a processor multiplies such factors three to four times as fast as float32 numbers. In training they are the
factors of products by weights, forward and backward. Gradients of weights, sums over all tokens, stay products of
float32 numbers (SwitchBack, Wortsman et al. 2023, has 16 bits there); only that of the output layer's weight does not.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int8, Num
from torch import Tensor

from nmt.kernels import private
from nmt.kernels.precision import in_int8, once

ENOUGH = 2**18  # numbers of a weight: with fewer, rounding the rows takes as long as the product saves
APART = 256  # places between the draws of two rows: with 1, the errors of rows add up


def goes_in_bytes(rows: Float[Tensor, "N _"], weight: Float[Tensor, "_ _"]) -> bool:
    """Whether a fast product on a processor is `product_in_bytes`."""
    return in_int8() and rows.dtype == torch.float32 and len(rows) > 0 and weight.numel() >= ENOUGH


def product_in_bytes(
    rows: Float[Tensor, "N I"], weight: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None
) -> Float[Tensor, "N O"]:
    """rows · weight + bias. The weight must not change before the block of `products_in` ends.

    A layer's weight has a scale for each output. Forward, where it comes transposed, its outputs are those of the
    product. Backward they are what is summed over, so `rows` are multiplied by the scales before they are rounded: both
    products then have the same whole numbers of the weight.
    """
    if weight.is_contiguous():
        return _with_scaled_inputs(rows, weight, bias)
    numbers, of_outputs = once(weight.t(), in_bytes)
    factors, of_rows = in_bytes(rows)
    return scaled(as_float(byte_sums(factors, numbers.t())), of_outputs, bias, of_rows.unsqueeze(1))


def _with_scaled_inputs(
    rows: Float[Tensor, "N I"], weight: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None
) -> Float[Tensor, "N O"]:
    """The same, of a weight with a scale for each input."""
    numbers, of_inputs = once(weight, in_bytes)
    factors, of_rows = in_bytes(rows * of_inputs)
    outputs, of_rows = as_float(byte_sums(factors, numbers)), of_rows.unsqueeze(1)
    return outputs.mul_(of_rows) if bias is None else torch.addcmul(bias, outputs, of_rows, out=outputs)


def logits_in_bytes(
    inputs: Float[Tensor, "N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"]
) -> Float[Tensor, "N O"]:
    """What an output layer makes of its inputs. Its weight has a scale for each input, also in `gradients_in_bytes`."""
    return _with_scaled_inputs(inputs, weight.t(), bias)


def gradients_in_bytes(
    inputs: Float[Tensor, "N I"],
    of_outputs: Float[Tensor, "N O"],
    weight: Float[Tensor, "O I"],
    generator: torch.Generator | None,
) -> tuple[Float[Tensor, "N I"], Float[Tensor, "O I"]]:
    """The gradients of an output layer's inputs and weight. Overwrites `of_outputs`.

    A row of these, the probabilities less the reference, has one large number and thousands of small ones of the same
    sign. Rounded to the nearest, most of them would be 0, but their sums matter: so they are `drawn_in_bytes`. For the
    weight's gradient, a sum over rows, the inputs are multiplied by the rows' scales before they are rounded.
    """
    numbers, of_features = once(weight.t(), in_bytes)
    factors, scales = drawn_in_bytes(of_outputs, generator)
    of_rows = scales.unsqueeze(1)
    of_inputs = scaled(as_float(byte_sums(factors, numbers.t())), of_features, None, of_rows)
    columns, of_columns = in_bytes((inputs * of_rows).t())
    return of_inputs, as_float(byte_sums(columns, factors)).mul_(of_columns.unsqueeze(1)).t()


def in_bytes(rows: Float[Tensor, "N I"]) -> tuple[Int8[Tensor, "N I"], Float[Tensor, " N"]]:
    """Each row's numbers, and what to multiply them by: the largest absolute value is 127."""
    scales = _scales(rows)
    return (rows / scales.unsqueeze(1)).round_().to(torch.int8), scales


def drawn_in_bytes(
    rows: Float[Tensor, "N I"], generator: torch.Generator | None
) -> tuple[Int8[Tensor, "N I"], Float[Tensor, " N"]]:
    """The same, rounded up or down at random so that each number is right on average. Overwrites `rows`.

    Stochastic rounding (Gupta et al. 2015). To draw a number for each would take longer than the product: each row has
    the draws of the one before, moved by `APART` places.
    """
    scales = _scales(rows).mul_(1 + 2**-14)  # the largest is a little less than 127, and with its draw less than 128
    count, size = rows.shape
    draws = torch.rand(APART * (count - 1) + size, generator=generator).as_strided((count, size), (APART, 1))
    return torch.addcmul(draws, rows, 1 / scales.unsqueeze(1), out=rows).floor_().to(torch.int8), scales


def _scales(rows: Float[Tensor, "N I"]) -> Float[Tensor, " N"]:
    largest = torch.maximum(rows.amax(dim=1), rows.amin(dim=1).neg_())  # faster than that of absolute values
    return largest.clamp_(min=torch.finfo(rows.dtype).tiny * 127).div_(127)


def byte_sums(left: Int8[Tensor, "N I"], right: Int8[Tensor, "I O"]) -> Num[Tensor, "N O"]:
    """The exact product: 32-bit integers, or float64 numbers where PyTorch's product of 8-bit integers fails."""
    if private.has_byte_product():
        return private.byte_product(left, right)
    return left.double() @ right.double()


def as_float(sums: Num[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """The sums as float32 numbers: in the same memory, if they are integers of as many bits."""
    return sums.view(torch.float32).copy_(sums) if sums.dtype == torch.int32 else sums.float()


def scaled(
    outputs: Float[Tensor, "*G N O"],
    of_outputs: Float[Tensor, "*H O"],
    bias: Float[Tensor, "*H O"] | None,
    of_rows: Float[Tensor, "*G N 1"] | None,
) -> Float[Tensor, "*G N O"]:
    """The outputs times their scales and those of the rows, and the bias added, in the same memory."""
    if of_rows is not None:
        outputs.mul_(of_rows)
    return outputs.mul_(of_outputs) if bias is None else torch.addcmul(bias, outputs, of_outputs, out=outputs)
