"""The name of a device → the device, and what machine it belongs to."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch

from nmt.system.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one. Raises `UserError` for a device that does not exist here."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()  # meta, which can be had everywhere, holds no numbers
    except (RuntimeError, AssertionError):
        raise UserError(f"device: {name!r} cannot be used here; choose auto, cpu or cuda") from None
    return device


@contextmanager
def explaining_memory(message: Callable[[], str]) -> Iterator[None]:
    """Where a device has no room for what the block computes, raise `UserError` with that message."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError):
        raise UserError(message()) from None
    except RuntimeError as error:  # what PyTorch raises on a CPU, in these words
        if "can't allocate memory" not in str(error):
            raise
        raise UserError(message()) from None


@cache
def keep_freed_memory() -> None:
    """From now on, let the C library (glibc; others have no such switch) keep what tensors free for those to come.

    Each step of a search frees tens of MiB. To give them back to the system and to have them again, page by page, took
    a sixth of the time of a search in 8 bits. What the process held at most stays with it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_MMAP_THRESHOLD, 2**25)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # in bytes; the numbers are those of malloc.h


def describe_machine(device: torch.device) -> str:
    """The machine and the versions that a measured time belongs to, in words."""
    what = f"{os.cpu_count()} cores of {_processor()}"
    if device.type == "cuda":
        what += f", {torch.cuda.get_device_name(device)}"
    return f"{what}; Python {platform.python_version()}, PyTorch {torch.__version__}"


def _processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
