"""Linear layers with faster matrix products, and one gradient product for a weight that is used many times.

PyTorch multiplies float32 matrices on a processor by MKL, which keeps to AVX2 on AMD's; oneDNN, which comes with
PyTorch too, uses AVX-512 there: 460 instead of 220 GFLOP/s on two cores of a Zen 5. `F.linear` is the plain twin.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nmt.kernels import private
from nmt.kernels.byte_products import goes_in_bytes, product_in_bytes
from nmt.kernels.initial import glorot, zero
from nmt.kernels.precision import in_bf16
from nmt.kernels.processor import fastest_library, this_processor
from nmt.kernels.rounded import dense, product, product_by_weight, rounded
from nmt.kernels.shared import collect, for_all_uses
from nmt.kernels.switch import fast


class Linear(nn.Linear):
    """`torch.nn.Linear` by `linear`. Its first weight is Glorot's, its first bias 0.

    A layer is `bounded` if its inputs lie between −1 and 1 outside of training, which makes 8-bit products simpler.
    """

    bounded = False

    def reset_parameters(self) -> None:
        glorot(self.weight)
        if self.bias is not None:
            zero(self.bias)

    def forward(self, input: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        return linear(input, for_all_uses(self.weight), self.bias)


def linear(
    inputs: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """x Wᵀ + b, as `F.linear`."""
    if not fast(inputs):
        return F.linear(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)  # type: ignore[no-untyped-call]


def multiply(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """left · right + bias, without a gradient, by the fastest kernel there is. A transposed `right` is not copied.

    `right` is a weight: in a block of `products_in` it is rounded once. `left` may have been `as_factor` already.
    """
    found = kernel_product(left, right, bias)
    return found.float() if found.dtype == torch.bfloat16 else found


def kernel_product(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """`multiply`'s result as its kernel gives it: in bf16 rounded, in half the memory."""
    if goes_in_bytes(left, right):
        return few_sizes(left, lambda rows: product_in_bytes(rows, right, bias))
    if not has_kernel(left) or left.shape[1] == 0:  # the kernel refuses a sum of nothing
        left = left.to(right.dtype)  # it may be a factor of a block of `products_in` that has ended
        return left @ right if bias is None else torch.addmm(bias, left, right)
    bias = None if bias is None else bias.contiguous()  # the kernel does not look at its stride
    if in_bf16():
        return few_sizes(dense(rounded(left)), lambda rows: product_by_weight(rows, right, bias))
    left, columns = dense(left), dense(right).t()
    return few_sizes(left, lambda rows: private.product(rows, columns, bias))


def as_factor(rows: Float[Tensor, "*N I"]) -> Float[Tensor, "*N I"]:
    """Rows that enter several products: in bf16 they are then rounded once."""
    return rounded(rows) if in_bf16() and has_kernel(rows) else rows


def weight_gradient(inputs: Float[Tensor, "N I"], gradients: Float[Tensor, "N O"]) -> Float[Tensor, "O I"]:
    """The gradient of a weight that made O outputs of I inputs in each of N rows. Both may have been `as_factor`."""
    if inputs.dtype == torch.bfloat16 or (in_bf16() and has_kernel(inputs)):
        inputs, gradients = _few_sums(rounded(inputs)), _few_sums(rounded(gradients))
        total = product(inputs.t(), gradients)  # faster than its transpose
        return total.t().contiguous().float()  # as the weight lies in memory; one copy that does both is slower
    gradients = gradients.to(inputs.dtype)  # they may be factors of a block of `products_in` that has ended
    if not has_kernel(inputs) or len(inputs) == 0:
        return gradients.t() @ inputs
    inputs, gradients = _few_sums(inputs), _few_sums(gradients)
    return private.product(dense(inputs.t()), dense(gradients).t(), None).t()  # likewise faster than its transpose


def _few_sums(rows: Float[Tensor, "N I"]) -> Float[Tensor, "P I"]:
    """The rows, and rows of zeros behind them, for kernels that sum over the rows (see `padded` for the reason)."""
    return _with_zeros(rows, 16 if len(rows) < 64 else 64 if len(rows) < 512 else 128)


def few_sizes(rows: Num[Tensor, "N I"], by_kernel: Callable[[Tensor], Tensor]) -> Num[Tensor, "N O"]:
    """A kernel's product of `padded` rows, without the rows that were added."""
    enough = padded(rows)
    return by_kernel(rows) if enough is rows else by_kernel(enough)[: len(rows)]


def padded(rows: Num[Tensor, "N I"]) -> Num[Tensor, "P I"]:
    """The rows, and rows of zeros behind them, so that kernels meet few numbers of rows.

    oneDNN compiles each size of a product and keeps it for ever: 0.6 MiB, or the size of a weight for its gradient.
    """
    step = 16 if len(rows) < 256 else 64 if len(rows) < 512 else 128  # 64 sentences with beams of 5 are 320 rows
    return _with_zeros(rows, step)


def _with_zeros(rows: Tensor, step: int) -> Tensor:
    """The rows, and rows of zeros behind them, up to a multiple of `step`."""
    missing = -len(rows) % step
    return F.pad(rows, (0, 0, 0, missing)) if missing else rows


def has_kernel(tensor: Tensor) -> bool:
    """Whether oneDNN's products serve a tensor."""
    if tensor.device.type != "cpu":
        return False
    if tensor.dtype == torch.bfloat16 or in_bf16():
        return tensor.dtype in (torch.float32, torch.bfloat16) and in_bf16()
    by_rule = fastest_library(this_processor()) == "onednn"
    return by_rule and tensor.dtype == torch.float32 and private.has_product(torch.float32)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = as_factor(inputs)
        ctx.save_for_backward(rows, weight)
        return multiply(rows.reshape(-1, rows.shape[-1]), weight.t(), bias).view(*inputs.shape[:-1], len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs, weight = ctx.saved_tensors
        of_bias = gradient.reshape(-1, gradient.shape[-1]).sum(dim=0) if ctx.needs_input_grad[2] else None
        rows, gradients = (x.reshape(-1, x.shape[-1]) for x in (inputs, as_factor(gradient)))
        of_inputs = multiply(gradients, weight).view(inputs.shape) if ctx.needs_input_grad[0] else None
        of_weight = collect(weight, weight_gradient, rows, gradients) if ctx.needs_input_grad[1] else None
        return of_inputs, of_weight, of_bias
