"""Matrix products on a CPU: float32 by oneDNN where that is known to be faster than PyTorch's own, or in bfloat16; and
the linear layer of them.

On AMD's CPUs PyTorch's products, MKL's, do not use AVX-512, and oneDNN's are up to twice as fast. Everywhere else
PyTorch's own are taken. In bfloat16 activations are rounded as they come, and weights once an update.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast import torch_internals
from nmt.fast.processor import Processor, this_processor
from nmt.fast.shared_gradients import collect

_ROUNDED: ContextVar[dict[Any, tuple[Tensor, Tensor]] | None] = ContextVar("rounded", default=None)


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """In its block the fast kernels' products, forward and backward, have factors of this precision.

    In bf16 factors and results are rounded to bfloat16, and sums are float32. Weights must not change in the block:
    each is rounded once.
    """
    token = _ROUNDED.set({} if precision == "bf16" else None)
    try:
        yield
    finally:
        _ROUNDED.reset(token)


def in_bf16() -> bool:
    """Whether products round their factors to bfloat16."""
    return _ROUNDED.get() is not None


def is_fast(tensor: Tensor) -> bool:
    """Whether the fast kernels take this tensor: they are for CPUs, and do not follow PyTorch's autocast."""
    return tensor.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


@cache
def prefers_onednn(processor: Processor | None = None) -> bool:
    """Whether float32 products are oneDNN's: on AMD's CPUs with AVX-512, unless oneDNN is limited to less."""
    vendor, features = processor or this_processor()
    limited = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper().startswith(("SSE", "AVX2", "AVX_"))
    return vendor == "AuthenticAMD" and "avx512f" in features and not limited


def has_kernel(tensor: Tensor) -> bool:
    """Whether oneDNN's products are used for a tensor."""
    if in_bf16():
        return tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.bfloat16)
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32 and prefers_onednn()


def multiply(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """left · right + bias, without a gradient. A transposed `right` is not copied.

    `right` is a weight: in a block of `products_in` it is rounded once. `left` may be rounded already (`as_factor`).
    """
    result = kernel_product(left, right, bias)
    return result.float() if result.dtype == torch.bfloat16 else result


def kernel_product(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """`multiply`'s result as its kernel returns it: rounded in bf16, in half the memory."""
    if not has_kernel(left) or left.shape[1] == 0:  # the kernel refuses a sum of nothing
        left = left.to(right.dtype)  # it may come from a block of `products_in` that has ended
        return left @ right if bias is None else torch.addmm(bias, left, right)
    bias = None if bias is None else bias.contiguous()  # the kernel does not read its stride
    if in_bf16():
        left, columns, bias = left.bfloat16(), _rounded_transpose(right), None if bias is None else _rounded(bias)
    else:
        columns = _dense(right).t()
    return few_sizes(_dense(left), lambda rows: torch_internals.product(rows, columns, bias))


def as_factor(rows: Float[Tensor, "*N I"]) -> Float[Tensor, "*N I"]:
    """Rows that are factors of several products: in bf16 they are then rounded once."""
    return rows.bfloat16() if in_bf16() and has_kernel(rows) else rows


def weight_gradient(inputs: Float[Tensor, "N I"], gradients: Float[Tensor, "N O"]) -> Float[Tensor, "O I"]:
    """The gradient of a weight that made O outputs of I inputs in each of N rows. Both may be rounded already."""
    rounded = inputs.dtype == torch.bfloat16 or (in_bf16() and has_kernel(inputs))
    if rounded:
        inputs, gradients = inputs.bfloat16(), gradients.bfloat16()
    else:
        gradients = gradients.to(inputs.dtype)  # they may come from a block of `products_in` that has ended
        if not has_kernel(inputs) or len(inputs) == 0:
            return gradients.t() @ inputs
    step = 16 if len(inputs) < 64 else 64 if len(inputs) < 512 else 128
    inputs, gradients = _with_zeros(inputs, step), _with_zeros(gradients, step)
    transposed = torch_internals.product(_dense(inputs.t()), _dense(gradients).t(), None)  # faster than the gradient
    # In bfloat16 as the weight lies in memory; one copy that does both is slower.
    return transposed.t().contiguous().float() if rounded else transposed.t()


def linear(
    inputs: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """x Wᵀ + b, as `F.linear`."""
    if not is_fast(inputs):
        return F.linear(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)  # type: ignore[no-untyped-call]


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


def few_sizes(rows: Num[Tensor, "N I"], kernel: Callable[[Tensor], Tensor]) -> Num[Tensor, "N O"]:
    """A kernel's product of `padded` rows, without the rows that were added."""
    more = padded(rows)
    return kernel(rows) if more is rows else kernel(more)[: len(rows)]


def padded(rows: Num[Tensor, "N I"]) -> Num[Tensor, "P I"]:
    """The rows, and rows of zeros behind them, so that kernels meet few numbers of rows.

    oneDNN compiles each size of a product and keeps it for ever: 0.6 MiB, or the size of a weight for its gradient.
    """
    return _with_zeros(rows, 16 if len(rows) < 256 else 64 if len(rows) < 512 else 128)  # beams of 5: 320 rows


def _with_zeros(rows: Tensor, step: int) -> Tensor:
    missing = -len(rows) % step
    return F.pad(rows, (0, 0, 0, missing)) if missing else rows


def _dense(matrix: Tensor) -> Tensor:
    """The same matrix without gaps in memory: with gaps the kernel is a hundred times slower."""
    return matrix if matrix.t().is_contiguous() else matrix.contiguous()


def _rounded(weight: Tensor) -> Tensor:
    """A weight in bfloat16, rounded once in a block of `products_in`."""
    cache, values = _ROUNDED.get(), weight.detach()
    assert cache is not None
    key = values.data_ptr(), values.shape, values.stride()
    if key not in cache:
        cache[key] = values, values.bfloat16()  # with the weight, whose address is part of the key
    return cache[key][1]


def _rounded_transpose(weight: Tensor) -> Tensor:
    """A weight (I O), rounded, as (O I): products forward and backward read the same rounded values."""
    return _rounded(weight).t() if weight.is_contiguous() else _rounded(_dense(weight.t()))
