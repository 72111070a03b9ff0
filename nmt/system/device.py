"""Which device to compute on, what to say when its memory runs out, and the machine that measured times belong to."""

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

from nmt.system.cores import cores
from nmt.system.errors import UserError
from nmt.system.values import shown

_OUT_OF_MEMORY = ("can't allocate memory", "bad_alloc", "overflow", "negative dimension")  # the last two: of sizes
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # in malloc.h


def choose_device(name: str) -> torch.device:
    """The device with that name; `auto` is a GPU if there is one. Raises `UserError` if there is no such device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()  # the "meta" device always exists, but holds no values
    except Exception:  # of many kinds, such as an ImportError for a device whose package is missing
        choices = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu (PyTorch finds no CUDA GPU)"
        raise UserError(f"device: {shown(name)} cannot be used here; choose {choices}") from None
    return device


def memory() -> int:
    """The bytes of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def report_out_of_memory(message: Callable[[], str]) -> Iterator[None]:
    """Raise `UserError` with that message if the block runs out of memory."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError):
        raise UserError(message()) from None
    except RuntimeError as error:  # PyTorch raises it on a CPU, with this text
        if not any(words in str(error) for words in _OUT_OF_MEMORY):
            raise
        raise UserError(message()) from None


@cache
def keep_freed_memory() -> None:
    """From now on, have the C library keep freed memory for later tensors (glibc only: others have no such switch).

    Each step of a search, and each update, frees tens of MiB. Returning them to the system and getting them back, page
    by page, took a sixth of the time of a search in 8 bits, and a tenth of that of an update in bfloat16. The price:
    the process never shrinks below its peak.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_MMAP_THRESHOLD, 2**25)


def describe_machine(device: torch.device) -> str:
    """The machine and the versions that a measured time belongs to, as text."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    machine = f"{cores()} cores of {next(names, platform.processor() or platform.machine())}"
    if device.type == "cuda":
        machine += f", {torch.cuda.get_device_name(device)}"
    return f"{machine}; Python {platform.python_version()}, PyTorch {torch.__version__}"
