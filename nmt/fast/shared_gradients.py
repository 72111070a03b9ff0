"""One gradient for all uses of a tensor.

Autograd computes a gradient as large as the tensor at each use, and adds them up: of weights, keys and values, which a
decoder uses at every step, that is most of what its backward pass moves through memory. The uses of a shared tensor
compute none. They leave their factors with the tensor's node, which runs backward after all of them and computes the
gradient: by one product over all uses, or from a sum to which each of them has added in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast import torch_internals

Product: TypeAlias = Callable[[Tensor, Tensor], Tensor]

TOGETHER = 32  # uses in one product: enough for a fast one, and what they left need not be kept


def reused(tensor: Tensor) -> Tensor:
    """The same tensor, for many uses; itself if it is that already.

    Its gradient reaches what it was computed from, not itself.
    """
    if _is_shared(tensor):
        return tensor
    tensor = tensor.contiguous()  # once, or each use would make a copy
    if not (torch.is_grad_enabled() and tensor.requires_grad and can_share()):
        return tensor
    return _Shared.apply(tensor)  # type: ignore[no-untyped-call]


def can_share() -> bool:
    """Whether tensors can be shared; without gradients there is nothing to share, and nothing to try out."""
    return not torch.is_grad_enabled() or torch_internals.has_backward_passes()


def collect(tensor: Tensor, product: Product, left: Tensor, right: Tensor) -> Tensor | None:
    """A use's gradient of a tensor, product(left, right); None of a shared one, with whose node the factors are left.

    There the product will be made of the rows (in the last dimension but one) of many uses' factors.
    """
    if not _is_shared(tensor):
        return product(left, right).view(tensor.shape)
    node: Any = tensor.grad_fn
    _begin(node)
    if node.product is not product:
        _multiply(node)
        node.product = product
    node.factors.append((left.detach(), right.detach()))
    if len(node.factors) == TOGETHER:
        _multiply(node)
    return None


def total(node: Any) -> Tensor:
    """The gradient so far of a shared tensor, whose `grad_fn` is the node: at first zeros, to be added to in place."""
    _begin(node)
    if node.total is None:
        node.total = node.zeros()
    total: Tensor = node.total
    return total


def _is_shared(tensor: Tensor) -> bool:
    """Whether `reused` made it."""
    return hasattr(tensor.grad_fn, "backward_pass")


def _begin(node: Any) -> None:
    """Forget what an earlier backward pass has left, if it ended before it came to the node."""
    running = torch_internals.backward_pass()
    if node.backward_pass != running:
        node.backward_pass, node.product, node.factors, node.total = running, None, [], None


def _multiply(node: Any) -> None:
    """Add the product of the factors so far to the total."""
    if node.factors:
        left, right = (x[0] if len(x) == 1 else torch.cat(x, dim=-2) for x in zip(*node.factors, strict=True))
        node.factors = []
        gradient = node.product(left, right).view(node.shape)
        node.total = gradient if node.total is None else node.total.add_(gradient)


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)  # no gradient is None, not a tensor of zeros
        ctx.backward_pass, ctx.shape = None, tensor.shape
        ctx.zeros = partial(torch.zeros, tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direct: Tensor | None) -> Tensor | None:
        """All uses have run backward by now. `direct` is the gradient of uses that do not share it."""
        _begin(ctx)
        _multiply(ctx)
        total, ctx.total, ctx.backward_pass = ctx.total, None, None
        if total is None or direct is None:
            return direct if total is None else total
        return total.add_(direct)
