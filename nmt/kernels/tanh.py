"""tanh x as 2σ(2x) − 1: of many numbers it takes a fifth of the time of PyTorch's tanh on a processor.

A result is at most 2e-7 away from that of `torch.tanh`, which is the plain twin. Near 0 that is a large part of it, so
this is for where an absolute error of that size does not matter.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.switch import fast


def tanh(numbers: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """The hyperbolic tangent of each number."""
    if not fast(numbers) or numbers.dtype not in (torch.float32, torch.float64):
        return torch.tanh(numbers)
    return _Tanh.apply(numbers) if numbers.requires_grad else _of_twice(2 * numbers)  # type: ignore[no-untyped-call]


def tanh_(numbers: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """The same in the numbers' place, on a processor and without a gradient."""
    return _of_twice(numbers.mul_(2))


def _of_twice(numbers: Tensor) -> Tensor:
    """tanh of half of each number, in the numbers' place."""
    return numbers.sigmoid_().mul_(2).sub_(1)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, numbers: Tensor) -> Tensor:
        found = _of_twice(2 * numbers)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        [found] = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, found)
