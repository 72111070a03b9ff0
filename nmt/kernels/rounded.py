"""Products of bfloat16 factors, whose sums are float32: activations are rounded as they come, weights once an update.

A decoder multiplies by each weight at every step. Rounding a weight takes up to half as long as a product by it where
the processor has matrix units. So a rounded weight is kept until the end of `products_in`'s block.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import BFloat16, Float
from torch import Tensor

from nmt.kernels import private
from nmt.kernels.precision import once


def rounded(tensor: Float[Tensor, "*N"]) -> BFloat16[Tensor, "*N"]:
    """The nearest bfloat16 numbers."""
    return tensor.bfloat16()


def product_by_weight(
    rows: BFloat16[Tensor, "N I"], weight: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None
) -> BFloat16[Tensor, "N O"]:
    """rows · weight + bias. The weight must not change before the block of `products_in` ends."""
    factors = _prepared(weight)
    shift = None if bias is None else _prepared(bias)
    return _product(rows, factors, shift)


def product(left: BFloat16[Tensor, "N I"], right: BFloat16[Tensor, "I O"]) -> BFloat16[Tensor, "N O"]:
    """left · right, of which nothing is kept."""
    return _product(dense(left), dense(right).t(), None)


def dense(matrix: Tensor) -> Tensor:
    """The same matrix, its rows or its columns one behind the other: with gaps the kernel is a hundred times slower."""
    return matrix if matrix.t().is_contiguous() else matrix.contiguous()


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if private.has_product(torch.bfloat16):
        return private.product(rows, weight, bias)
    return F.linear(rows, weight, bias)


def _prepared(weight: Tensor) -> Tensor:
    """A weight (I O), rounded, as (O I); or a bias."""
    return once(weight, rounded if weight.dim() == 1 else _transposed)


def _transposed(weight: Tensor) -> Tensor:
    """A weight, rounded and transposed: products forward and backward read the same rounded numbers."""
    lying = weight if weight.is_contiguous() else dense(weight.t())
    numbers = once(lying, rounded)
    return numbers.t() if lying is weight else numbers
