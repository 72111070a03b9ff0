"""Windows of a long memory, at a cost that does not depend on its length, forward and backward.

Autograd's own gradient of a selection is a tensor as large as what was selected from. Taken at each of T steps, it
makes a local attention's backward pass O(T·S) in time, as global attention's is. Here all the selections from a shared
memory add their gradients to one tensor, in place.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.shared import can_share, reused, total


def gather_windows(memory: Float[Tensor, "*B S X"], positions: Int[Tensor, "*#B T W"]) -> Float[Tensor, "*B T W X"]:
    """The memory's vectors at the positions of each of T queries."""
    if not can_share():
        return plain_gather_windows(memory, positions)
    return _Gather.apply(reused(memory), positions)  # type: ignore[no-untyped-call]


def plain_gather_windows(
    memory: Float[Tensor, "*B S X"], positions: Int[Tensor, "*#B T W"]
) -> Float[Tensor, "*B T W X"]:
    """A selection whose gradient is autograd's."""
    windows = memory.flatten(0, -2).index_select(0, _rows(memory, positions))
    return windows.view(*memory.shape[:-2], *positions.shape[-2:], -1)


def _rows(memory: Tensor, positions: Tensor) -> Tensor:
    """The positions' rows in a memory of which all sentences stand one below the other."""
    *batch, length, _ = memory.shape
    positions = positions.expand(*batch, -1, -1).flatten(0, -3)
    firsts = length * torch.arange(len(positions), device=memory.device)
    return (positions + firsts[:, None, None]).flatten()


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, positions: Tensor) -> Tensor:
        ctx.node = memory.grad_fn
        ctx.save_for_backward(_rows(memory, positions))
        return plain_gather_windows(memory, positions)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (rows,) = ctx.saved_tensors
        total(ctx.node).flatten(0, -2).index_add_(0, rows, gradient.flatten(0, -2))
        return None, None
