"""The precision of matrix products: which a device has, and how to ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from nmt.kernels.processor import Precision
from nmt.kernels.switch import in_use
from nmt.system.errors import UserError

Made = TypeVar("Made")


def check_precision(field: str, precision: str, device: torch.device) -> None:
    """Raise `UserError`, which names the field, where a device has no products of that precision."""
    if precision == "int8" and device.type != "cpu":
        raise UserError(f"{field}: int8 runs on processors only, and this device is {device.type}; use bf16 or float32")


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """In its block the fast kernels' products have factors of this precision: "float32", "bf16" or "int8".

    This holds for forward and backward passes on a processor. In bf16 factors and results are rounded to bfloat16, and
    sums are float32 (see `nmt.kernels.rounded`); the plain twin, which PyTorch's own functions need as well, is
    `autocast`. In int8 the factors of products by weights are whole numbers (see `nmt.kernels.byte_products`). Weights
    must not change in the block: what a product needs of them is computed once.
    """
    token = _BLOCK.set(_Block(precision, {}))
    try:
        yield
    finally:
        _BLOCK.reset(token)


def autocast(device: torch.device, *, wanted: bool) -> torch.autocast:
    """PyTorch's bfloat16 autocast for a forward pass, if wanted and if `products_in` does not do it there."""
    by_kernels = device.type == "cpu" and in_use() == "fast"
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and not by_kernels)


def in_bf16() -> bool:
    """Whether products are to round their factors to bfloat16."""
    return _of_block("bf16")


def in_int8() -> bool:
    """Whether products by weights are to have factors that are whole numbers."""
    return _of_block("int8")


def once(weight: Tensor, make: Callable[[Tensor], Made]) -> Made:
    """What a function makes of a weight, once in a block of `products_in`. Outside of one nothing is kept."""
    block, own = _BLOCK.get(), weight.detach()
    if block is None:
        return make(own)
    name = make, own.data_ptr(), own.shape, own.stride()
    if name not in block.made:
        block.made[name] = own, make(own)  # holding the weight, too, whose address names it
    made: Made = block.made[name][1]
    return made


class _Block(NamedTuple):
    precision: Precision
    made: dict[Any, Any]


def _of_block(precision: Precision) -> bool:
    block = _BLOCK.get()
    return block is not None and block.precision == precision


_BLOCK: ContextVar[_Block | None] = ContextVar("products_in", default=None)
