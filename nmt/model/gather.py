"""Windows of a long memory, at a cost that does not depend on its length, forward and backward.

Autograd's own gradient of a selection is a tensor as large as what was selected from. Taken at each of T steps, it
makes a local attention's backward pass O(T·S) in time, as global attention's is. Here all the selections from a memory
add their gradients to one tensor, in place, which goes on to the memory's origin when the last has been added.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable


def shared(memory: Float[Tensor, "*B S X"]) -> Float[Tensor, "*B S X"]:
    """The same memory, ready for many calls of `gather`. Its gradient reaches what it was made of, not itself."""
    return _Shared.apply(memory)  # type: ignore[no-untyped-call]


def gather(memory: Float[Tensor, "*B S X"], positions: Int[Tensor, "Bn T W"]) -> Float[Tensor, "BnT W X"]:
    """The memory's vectors at each query's own positions. The leading sizes of `memory` make Bn.

    Calls share a gradient if they are given the same result of `shared`; any other memory is one call's own.
    """
    if memory.requires_grad and not hasattr(memory.grad_fn, "total"):
        memory = shared(memory)
    return _Gather.apply(memory, positions)  # type: ignore[no-untyped-call]


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)  # no gradient is None, not a tensor of zeros
        ctx.total = None
        return memory.view_as(memory)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direct: Tensor | None) -> Tensor | None:
        """All selections have run backward by now. `direct` is the gradient of other uses of the memory."""
        total, ctx.total = ctx.total, None
        if total is None or direct is None:
            return direct if total is None else total
        return total + direct


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, positions: Tensor) -> Tensor:
        sentences = memory.flatten(0, -3)
        first_rows = sentences.shape[1] * torch.arange(len(sentences), device=memory.device)[:, None, None]
        rows = (positions + first_rows).flatten()
        ctx.origin, ctx.shape = memory.grad_fn, memory.shape
        ctx.save_for_backward(rows)
        return sentences.flatten(0, 1).index_select(0, rows).view(-1, positions.shape[2], memory.shape[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (rows,) = ctx.saved_tensors
        this_pass = torch._C._current_graph_task_id()  # an earlier one may have ended before it came to the origin
        if ctx.origin.total is None or ctx.origin.made_in != this_pass:
            ctx.origin.total, ctx.origin.made_in = gradient.new_zeros(ctx.shape), this_pass
        ctx.origin.total.view(-1, ctx.shape[-1]).index_add_(0, rows, gradient.flatten(0, 1))
        return None, None
