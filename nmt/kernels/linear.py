"""Matrix products for linear layers: faster kernels, and one gradient product for a weight that is used many times.

PyTorch multiplies float32 matrices on a processor by MKL, which keeps to AVX2 on AMD's; oneDNN, which comes with
PyTorch too, uses AVX-512 there: 460 instead of 220 GFLOP/s on two cores of a Zen 5. `F.linear` is the plain twin.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from nmt.kernels.shared import collect, share
from nmt.system.errors import UserError


class Linear(nn.Linear):
    """`torch.nn.Linear` by `linear`."""

    def forward(self, input: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        return linear(input, self.weight, self.bias)


def by_hand(tensor: Tensor) -> bool:
    """Whether gradients written by hand serve a tensor: on a processor, in its own precision."""
    return tensor.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


def linear(
    inputs: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """x Wᵀ + b, as `F.linear`."""
    if not by_hand(inputs):
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
    return HAS_ONEDNN and tensor.dtype == torch.float32 and tensor.device.type == "cpu"


HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def check_precision(field: str, precision: str, device: torch.device) -> None:
    """Raise `UserError`, which names the field, where a device has no products of that precision."""
    if precision == "int8" and device.type != "cpu":
        raise UserError(f"{field}: int8 is for processors, and this is {device.type}; set it to bf16 or float32")
    if precision != "float32" and device.type == "cpu" and not HAS_ONEDNN:
        raise UserError(
            f"{field}: {precision} needs oneDNN, which this PyTorch has not for this processor; set it to float32"
        )
    if precision == "int8" and not _sums_of_bytes_are_exact():
        raise UserError(f"{field}: int8 products of this PyTorch overflow on this processor; set it to float32 or bf16")


def _sums_of_bytes_are_exact() -> bool:
    """Whether 8-bit products are summed in 32 bits: some kernels for processors without VNNI first sum two in 16."""
    largest = torch.full((16, 64), 127, dtype=torch.int8)
    return bool((torch._int_mm(largest, largest.t()) == 64 * 127**2).all())


@contextmanager
def products_in_bf16(wanted: bool) -> Iterator[None]:
    """Within it, if wanted, oneDNN's products, of backward passes too, round their factors and results to bfloat16.

    The sums are float32. Where a processor has such products (AVX512-BF16) they take half the time.
    """
    token = _BF16.set(wanted)
    try:
        yield
    finally:
        _BF16.reset(token)


_BF16 = ContextVar("products_in_bf16", default=False)


def _kernel(left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    left, right = _dense(left), _dense(right).t()
    if not _BF16.get():
        return torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    product = torch.ops.mkldnn._linear_pointwise(left.bfloat16(), right.bfloat16(), None, "none", [], "").float()
    return product if bias is None else product.add_(bias)


def _dense(matrix: Tensor) -> Tensor:
    """The same matrix, its rows or its columns one behind the other: with gaps the kernel is a hundred times slower."""
    return matrix if matrix.t().is_contiguous() else matrix.contiguous()


def call_with_shared_weights(module: nn.Module, *arguments: Any) -> Any:
    """`module(*arguments)`, in which the gradient of each `Linear`'s weight is one product over all of its uses."""
    weights = {
        f"{name}.weight": share(child.weight)
        for name, child in module.named_modules()
        if isinstance(child, Linear) and by_hand(child.weight)
    }
    return functional_call(module, weights, arguments)


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
