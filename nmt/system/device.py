"""Which device to compute on, what to say when its memory runs out."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from nmt.system.errors import UserError
from nmt.system.values import shown

_OUT_OF_MEMORY = ("can't allocate memory", "bad_alloc", "overflow", "negative dimension")  # the last two: of sizes


def choose_device(name: str) -> torch.device:
    """The device with that name; `auto` is a GPU if there is one. Raises `UserError` if there is no such device."""
    configure_process()  # before the first operation
    try:
        device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
        torch.empty(1, device=device).item()  # the "meta" device always exists, but holds no values
    except Exception:  # of many kinds, such as an ImportError for a device whose package is missing
        raise UserError(f"device: {shown(name)} cannot be used here; choose auto or cpu") from None
    return device


def memory() -> int:
    """The bytes of the machine's memory."""
    if sys.platform == "win32":
        kibibytes = ctypes.c_ulonglong()
        ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kibibytes))
        return 1024 * kibibytes.value
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def peak_memory() -> int:
    """The most bytes that this process has had in memory; on Windows, which needs another package for that, 0."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextmanager
def report_out_of_memory(message: Callable[[], str]) -> Iterator[None]:
    """Raise `UserError` with that message if the block runs out of memory."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # PyTorch raises a RuntimeError on a CPU, with one of these texts
        is_known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_known and not any(words in str(error) for words in _OUT_OF_MEMORY):
            raise
        raise UserError(message()) from None


def configure_process() -> None:
    """Start PyTorch's threads, which flush denormals if they start now."""
    with flush_denormals():
        torch.ones(2**15 * torch.get_num_threads()).mul_(1)  # so large that all threads start, like this one


@contextmanager
def flush_denormals(flush: bool = True) -> Iterator[None]:
    """A block, or a function, in which values below 1e-38 count as 0 on this thread; or, with False, do not.

    Some CPUs multiply such values, which a peaked softmax leaves, a hundred times slower than others. Other code of the
    program may need them.
    """
    before = sys.float_info.min / 2 == 0.0
    torch.set_flush_denormal(flush)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
