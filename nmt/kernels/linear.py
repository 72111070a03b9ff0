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
from nmt.kernels.initial import glorot, zero
from nmt.kernels.precision import in_bf16
from nmt.kernels.shared import collect, for_all_uses
from nmt.kernels.switch import fast


class Linear(nn.Linear):
    """`torch.nn.Linear` by `linear`. Its first weight is Glorot's, its first bias 0."""

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
    """left · right + bias, without a gradient, by the fastest kernel there is. A transposed `right` is not copied."""
    if not has_kernel(left) or left.shape[1] == 0:  # the kernel refuses a sum of nothing
        return left @ right if bias is None else torch.addmm(bias, left, right)
    bias = None if bias is None else bias.contiguous()  # the kernel does not look at its stride
    return few_sizes(left, lambda rows: _kernel(rows, right, bias))


def weight_gradient(inputs: Float[Tensor, "N I"], gradients: Float[Tensor, "N O"]) -> Float[Tensor, "O I"]:
    """The gradient of a weight that made O outputs of I inputs in each of N rows."""
    if not has_kernel(inputs):
        return gradients.t() @ inputs
    # The kernel takes a multiple of 256 rows, MKL the rest (see `few_sizes`). It is faster at the transposed result.
    whole = len(inputs) // 256 * 256
    if whole == 0:
        return gradients.t() @ inputs
    total = _kernel(inputs[:whole].t(), gradients[:whole], None)
    if whole < len(inputs):
        total.addmm_(inputs[whole:].t(), gradients[whole:])
    return total.t()


def few_sizes(rows: Num[Tensor, "N I"], product: Callable[[Tensor], Tensor]) -> Num[Tensor, "N O"]:
    """A kernel's product of rows, to which rows of zeros are added so that it meets few numbers of them.

    oneDNN compiles each size of a product and keeps it for ever: 0.6 MiB, or the size of a weight for its gradient.
    """
    missing = -len(rows) % (16 if len(rows) < 256 else 128)
    return product(F.pad(rows, (0, 0, 0, missing)))[: len(rows)] if missing else product(rows)


def has_kernel(tensor: Tensor) -> bool:
    """Whether oneDNN's products serve a tensor."""
    if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
        return False
    return in_bf16() or private.has_product(torch.float32)


def _kernel(left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    left, right = _dense(left), _dense(right).t()
    if not in_bf16():
        return private.product(left, right, bias)
    left, right = left.bfloat16(), right.bfloat16()
    product = private.product(left, right, None) if private.has_product(torch.bfloat16) else F.linear(left, right)
    return product.float() if bias is None else product.float().add_(bias)


def _dense(matrix: Tensor) -> Tensor:
    """The same matrix, its rows or its columns one behind the other: with gaps the kernel is a hundred times slower."""
    return matrix if matrix.t().is_contiguous() else matrix.contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return multiply(inputs.reshape(-1, inputs.shape[-1]), weight.t(), bias).view(*inputs.shape[:-1], len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs, weight = ctx.saved_tensors
        rows, gradients = (x.reshape(-1, x.shape[-1]) for x in (inputs, gradient))
        of_inputs = multiply(gradients, weight).view_as(inputs) if ctx.needs_input_grad[0] else None
        of_weight = collect(weight, weight_gradient, rows, gradients) if ctx.needs_input_grad[1] else None
        of_bias = gradients.sum(dim=0) if ctx.needs_input_grad[2] else None
        return of_inputs, of_weight, of_bias
