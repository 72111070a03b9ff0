"""One gradient for all uses of a tensor.

Autograd computes a gradient as large as the tensor at each use, and adds them up: of weights, keys and values, which a
decoder uses at every step, that is most of what its backward pass moves through memory. The uses of a shared tensor
compute none. They leave their factors with the tensor's node, which runs backward after all of them and computes the
gradient: by one product over all uses, or from a sum to which each of them has added in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nmt.fast import torch_internals
from nmt.fast.products import is_fast

Product: TypeAlias = Callable[[Tensor, Tensor], Tensor]

TOGETHER = 32  # uses in one product: enough for a fast one, and what they left need not be kept
_WEIGHTS: ContextVar[dict[int, Tensor]] = ContextVar("reused_weights", default={})  # noqa: B039 - nothing changes it


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


@contextmanager
def reused_weights(module: nn.Module) -> Iterator[None]:
    """In its block, the module's layers are used many times: the weight of each gets one gradient for all uses."""
    matrices = [parameter for parameter in module.parameters() if parameter.dim() == 2 and is_fast(parameter)]
    token = _WEIGHTS.set({id(matrix): reused(matrix) for matrix in matrices})
    try:
        yield
    finally:
        _WEIGHTS.reset(token)


def for_all_uses(weight: Tensor) -> Tensor:
    """A layer's weight, as `reused_weights` has prepared it, if it has."""
    return _WEIGHTS.get().get(id(weight), weight)


def collect(tensor: Tensor, product: Product, left: Tensor, right: Tensor) -> Tensor | None:
    """A use's gradient of a tensor, product(left, right); None of a shared one, with whose node the factors are left.

    There the product will be made of the rows (in the last dimension but one) of many uses' factors.
    """
    if not _is_shared(tensor):
        return product(left, right).view(tensor.shape)
    contributions = _contributions(tensor.grad_fn)
    if contributions.product is not product:
        contributions.multiply()
        contributions.product = product
    contributions.factors.append((left.detach(), right.detach()))
    if len(contributions.factors) == TOGETHER:
        contributions.multiply()
    return None


def total(node: Any) -> Tensor:
    """The gradient so far of a shared tensor, whose `grad_fn` is the node: at first zeros, to be added to in place."""
    contributions = _contributions(node)
    if contributions.total is None:
        contributions.total = node.zeros()
    return contributions.total


def _is_shared(tensor: Tensor) -> bool:
    """Whether `reused` made it."""
    return hasattr(tensor.grad_fn, "contributions")


class _Contributions:
    """To a gradient, as uses left them in one backward pass."""

    def __init__(self, shape: torch.Size, backward_pass: int) -> None:
        self.shape = shape
        self.backward_pass = backward_pass
        self.product: Product = torch.matmul
        self.factors: list[tuple[Tensor, Tensor]] = []
        self.total: Tensor | None = None

    def multiply(self) -> None:
        """Add the product of the factors to the total."""
        if not self.factors:
            return
        left, right = (x[0] if len(x) == 1 else torch.cat(x, dim=-2) for x in zip(*self.factors, strict=True))
        self.factors = []
        gradient = self.product(left, right).view(self.shape)
        self.total = gradient if self.total is None else self.total.add_(gradient)


def _contributions(node: Any) -> _Contributions:
    """Those of the backward pass that is running: an earlier one may have ended before it came to the node."""
    running = torch_internals.backward_pass()
    if node.contributions is None or node.contributions.backward_pass != running:
        node.contributions = _Contributions(node.shape, running)
    return node.contributions


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)  # no gradient is None, not a tensor of zeros
        ctx.contributions, ctx.shape = None, tensor.shape
        ctx.zeros = partial(torch.zeros, tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direct: Tensor | None) -> Tensor | None:
        """All uses have run backward by now. `direct` is the gradient of uses that do not share it."""
        contributions, ctx.contributions = _contributions(ctx), None
        contributions.multiply()
        if contributions.total is None or direct is None:
            return direct if contributions.total is None else contributions.total
        return contributions.total.add_(direct)
