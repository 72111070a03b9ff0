"""Which kernels run: "plain", PyTorch's own functions everywhere, or "fast", the ones beside them in this package.

The environment variable NMT_KERNELS sets what a process begins with; `use` changes it.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from nmt.system.errors import UserError

Kernels: TypeAlias = Literal["plain", "fast"]
VARIABLE = "NMT_KERNELS"


class use:
    """Run these kernels from now on; as a context manager, until the end of its block.

    `nmt.kernels.use("plain")` holds for the whole process, as `torch.set_grad_enabled` does for a thread. It decides
    about forward passes: the backward pass of what has been computed already is not changed.
    """

    def __init__(self, kernels: Kernels | str) -> None:
        global _in_use
        self._before, _in_use = _in_use, _checked(kernels, "nmt.kernels.use")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        global _in_use
        _in_use = self._before


def in_use() -> Kernels:
    """What runs now."""
    return _in_use


def fast(tensor: Tensor) -> bool:
    """Whether a fast kernel takes this tensor: they are for processors, and PyTorch's autocast knows none of them."""
    return _in_use == "fast" and tensor.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


def _checked(kernels: str, source: str) -> Kernels:
    for known in get_args(Kernels):
        if kernels == known:
            return known
    raise UserError(f"{source}: {kernels!r} is not a set of kernels; set it to plain or fast")


_in_use: Kernels = _checked(os.environ.get(VARIABLE, "fast"), VARIABLE)
