"""A linear layer with the fast products, whose weight may be shared by many uses, and dropout with a fast mask.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.products import as_factor, multiply, weight_gradient
from nmt.fast.shared_gradients import collect


def dropout(inputs: Float[Tensor, "*N"], rate: float) -> Float[Tensor, "*N"]:
    """Each value is 0 with probability `rate`, and otherwise divided by 1 − rate: a sixth of the time of PyTorch's.

    PyTorch draws a 64-bit word for each value, and here one serves four values. 16 bits decide, so the rate is rounded
    to a multiple of 1/65536.
    """
    dropped = round(rate * 2**16)
    if dropped == 2**16:
        return F.dropout(inputs, rate)
    if dropped == 0:
        return inputs
    words = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = words.view(torch.int16)[: inputs.numel()].view(inputs.shape) >= dropped - 2**15
    return inputs * kept.to(inputs.dtype).mul_(2**16 / (2**16 - dropped))


def linear(
    inputs: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """x Wᵀ + b, as `F.linear`."""
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
