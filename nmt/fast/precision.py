"""The precision of the fast products: a block in which they are rounded to bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """In its block the fast kernels' products, forward and backward, have factors of this precision.

    In bf16 factors and results are rounded to bfloat16, and sums are float32. Weights must not change in the block:
    what a product needs of them is computed once.
    """
    token = _ROUNDED.set({} if precision == "bf16" else None)
    try:
        yield
    finally:
        _ROUNDED.reset(token)


def in_bf16() -> bool:
    """Whether products round their factors to bfloat16."""
    return _ROUNDED.get() is not None


def once(weight: Tensor, function: Callable[[Tensor], Result]) -> Result:
    """A function of a weight, computed once in a block of `products_in`. Outside of one nothing is kept."""
    cache, values = _ROUNDED.get(), weight.detach()
    if cache is None:
        return function(values)
    key = function, values.data_ptr(), values.shape, values.stride()
    if key not in cache:
        cache[key] = values, function(values)  # keeping the weight, too, whose address is part of the key
    result: Result = cache[key][1]
    return result


def is_fast(tensor: Tensor) -> bool:
    """Whether the fast kernels take this tensor: they are for CPUs, and do not follow PyTorch's autocast."""
    return tensor.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


_ROUNDED: ContextVar[dict[Any, Any] | None] = ContextVar("rounded", default=None)
