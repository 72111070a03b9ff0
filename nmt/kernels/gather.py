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

from nmt.kernels.shared import share, total


def gather(memory: Float[Tensor, "*B S X"], positions: Int[Tensor, "Bn T W"]) -> Float[Tensor, "BnT W X"]:
    """The memory's vectors at each query's own positions. The leading sizes of `memory` make Bn."""
    return _Gather.apply(share(memory), positions)  # type: ignore[no-untyped-call]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, positions: Tensor) -> Tensor:
        sentences = memory.flatten(0, -3)
        first_rows = sentences.shape[1] * torch.arange(len(sentences), device=memory.device)[:, None, None]
        rows = (positions + first_rows).flatten()
        ctx.node = memory.grad_fn
        ctx.save_for_backward(rows)
        return sentences.flatten(0, 1).index_select(0, rows).view(-1, positions.shape[2], memory.shape[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (rows,) = ctx.saved_tensors
        total(ctx.node).flatten(0, -2).index_add_(0, rows, gradient.flatten(0, 1))
        return None, None
