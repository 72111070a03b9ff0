"""A linear layer with the fast products, and one gradient product for a weight that is used many times.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.products import as_factor, multiply, weight_gradient
from nmt.fast.shared_gradients import collect


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
