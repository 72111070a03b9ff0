"""One gradient for all uses of a tensor.

Autograd makes a gradient as large as the tensor at each use, and adds them up: of weights, keys and values, which a
decoder uses at every step, that is most of what its backward pass moves through memory. The uses of a reused tensor
make none. They leave their parts with the tensor's node, which runs backward after all of them and makes the whole:
by one product over all uses, or from a sum to which each of them has added in place.

The plain twin is the tensor itself, whose gradients autograd adds up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nmt.kernels import private
from nmt.kernels.switch import fast, in_use

Made = TypeVar("Made")
Product: TypeAlias = Callable[[Tensor, Tensor], Tensor]

TOGETHER = 32  # uses in one product: enough for a fast one, and what they left need not be kept


def reused(tensor: Tensor) -> Tensor:
    """The same tensor, for many uses; itself if it is that already, or the kernels are plain.

    Its gradient reaches what it was made of, not itself.
    """
    if is_shared(tensor) or in_use() == "plain":
        return tensor
    tensor = tensor.contiguous()  # once, or each use would make a copy
    if not (torch.is_grad_enabled() and tensor.requires_grad and can_share()):
        return tensor
    return _Shared.apply(tensor)  # type: ignore[no-untyped-call]


def can_share() -> bool:
    """Whether tensors can be shared; without gradients there is nothing to share, and nothing to try out."""
    return in_use() == "fast" and (not torch.is_grad_enabled() or private.has_backward_passes())


@contextmanager
def reused_weights(module: nn.Module) -> Iterator[None]:
    """In its block, the module's layers are used many times: the weight of each gets one gradient for all uses."""
    matrices = [parameter for parameter in module.parameters() if parameter.dim() == 2 and fast(parameter)]
    token = _WEIGHTS.set({id(matrix): reused(matrix) for matrix in matrices})
    try:
        yield
    finally:
        _WEIGHTS.reset(token)


def for_all_uses(weight: Tensor) -> Tensor:
    """A layer's weight, as `reused_weights` has prepared it, if it has."""
    return _WEIGHTS.get().get(id(weight), weight)


_WEIGHTS: ContextVar[dict[int, Tensor]] = ContextVar("reused_weights", default={})  # noqa: B039 - nothing changes it


def collect(tensor: Tensor, product: Product, left: Tensor, right: Tensor) -> Tensor | None:
    """A use's gradient of a tensor, product(left, right); None of a shared one, with whose node the factors are left.

    There the product will be made of the rows (in the last dimension but one) of many uses' factors.
    """
    if not is_shared(tensor):
        return product(left, right).view(tensor.shape)
    parts = _parts(tensor.grad_fn)
    parts.factors[product].append((left.detach(), right.detach()))
    if len(parts.factors[product]) == TOGETHER:
        parts.multiply(product)
    return None


def total(node: Any) -> Tensor:
    """The gradient so far of a shared tensor, whose `grad_fn` is the node: at first zeros, to be added to in place."""
    parts = _parts(node)
    if parts.total is None:
        parts.total = node.zeros()
    return parts.total


def derived(tensor: Tensor, function: Callable[[Tensor], Made]) -> Made | None:
    """What a function makes of a shared tensor, once for all its uses; None of a tensor that is not shared."""
    if not is_shared(tensor):
        return None
    node: Any = tensor.grad_fn
    if function not in node.derived:
        node.derived[function] = function(tensor.detach())
    found: Made = node.derived[function]
    return found


def is_shared(tensor: Tensor) -> bool:
    """Whether `reused` made it."""
    return hasattr(tensor.grad_fn, "parts")


class _Parts:
    """Of a gradient, as uses left them in one backward pass."""

    def __init__(self, shape: torch.Size, backward_pass: int) -> None:
        self.shape = shape
        self.backward_pass = backward_pass
        self.factors: dict[Product, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        self.total: Tensor | None = None

    def multiply(self, product: Product) -> None:
        """Add to the total what is the product's."""
        left, right = zip(*self.factors.pop(product), strict=True)
        part = product(_joined(left), _joined(right)).view(self.shape)
        self.total = part if self.total is None else self.total.add_(part)


def _parts(node: Any) -> _Parts:
    """Those of the backward pass that is running: an earlier one may have ended before it came to the node."""
    running = private.backward_pass()
    if node.parts is None or node.parts.backward_pass != running:
        node.parts = _Parts(node.shape, running)
    return node.parts


def _joined(rows: tuple[Tensor, ...]) -> Tensor:
    return rows[0] if len(rows) == 1 else torch.cat(rows, dim=-2)


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)  # no gradient is None, not a tensor of zeros
        ctx.parts, ctx.shape, ctx.derived = None, tensor.shape, {}
        ctx.zeros = partial(torch.zeros, tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direct: Tensor | None) -> Tensor | None:
        """All uses have run backward by now. `direct` is the gradient of those that know nothing of sharing."""
        parts, ctx.parts, ctx.derived = _parts(ctx), None, {}
        for product in list(parts.factors):
            parts.multiply(product)
        if parts.total is None or direct is None:
            return direct if parts.total is None else parts.total
        return parts.total.add_(direct)
