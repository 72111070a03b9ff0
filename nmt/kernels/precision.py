"""The precision of matrix products: which a device has, and how to ask for products of bfloat16 factors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

from nmt.kernels.switch import in_use
from nmt.system.errors import UserError


def check_precision(field: str, precision: str, device: torch.device) -> None:
    """Raise `UserError`, which names the field, where a device has no products of that precision."""
    if precision == "int8" and device.type != "cpu":
        raise UserError(f"{field}: int8 runs on processors only, and this device is {device.type}; use bf16 or float32")


@contextmanager
def products_in_bf16(wanted: bool) -> Iterator[None]:
    """In its block, if wanted, the fast kernels' products round factors and results to bfloat16, and sum in float32.

    This holds for forward and backward passes on a processor. Where it has such instructions (AVX512-BF16) a product
    takes half the time. Weights must not change in the block: they are rounded once (see `nmt.kernels.rounded`). The
    plain twin, which PyTorch's own functions need as well, is `autocast`.
    """
    token = _PREPARED.set({} if wanted else None)
    try:
        yield
    finally:
        _PREPARED.reset(token)


def autocast(device: torch.device, *, wanted: bool) -> torch.autocast:
    """PyTorch's bfloat16 autocast for a forward pass, if wanted and if `products_in_bf16` does not do it there."""
    by_kernels = device.type == "cpu" and in_use() == "fast"
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and not by_kernels)


def in_bf16() -> bool:
    """Whether products are to round their factors to bfloat16."""
    return _PREPARED.get() is not None


def prepared_weights() -> dict[Any, Any]:
    """What has been made of weights in this block; empty outside of one, where nothing is kept."""
    store = _PREPARED.get()
    return {} if store is None else store


_PREPARED: ContextVar[dict[Any, Any] | None] = ContextVar("prepared_weights", default=None)
