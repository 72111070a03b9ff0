"""Numbers below 1e-38 count as 0.

A peaked softmax leaves weights of 1e-39, which some processors multiply a hundred times slower than others: whole
products ran at a seventh of their speed. Nothing that small changes a translation.
"""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import torch


def flush_denormals() -> None:
    """Have this thread, and the threads that PyTorch divides its work among, take numbers below 1e-38 for 0.

    The processor keeps this setting for each thread, and a new thread inherits it. PyTorch sets it for the calling
    thread alone, which is enough as long as that thread has given no work to others. Where it has, OpenMP runs the
    C library's `fesetenv` in all of them, if it is GNU's. Repeated calls in one thread cost nothing.
    """
    if getattr(_THREAD, "flushes", False):
        return
    _THREAD.flushes = True
    if torch.set_flush_denormal(True) and not flushed_everywhere():
        _reach_workers()


def flushed_everywhere() -> bool:
    """Whether all of this thread's helpers do it: each takes its share of a product whose factors are that small."""
    smallest = torch.ones(torch.get_num_threads() * _SHARE, dtype=torch.int32).view(torch.float32)  # 1e-45
    return not bool((smallest * 1).view(torch.int32).any())


_THREAD = threading.local()
_SHARE = 2**16  # of one thread: PyTorch gives at least half as many numbers to each


def _reach_workers() -> None:
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        process = ctypes.CDLL(None)
        environment = ctypes.create_string_buffer(256)  # an fenv_t has 32 bytes or fewer
        process.fegetenv(environment)
        for path in {
            line.split(maxsplit=5)[-1] for line in maps if "libgomp" in line
        }:  # other packages bring their own
            ctypes.CDLL(path).GOMP_parallel(process.fesetenv, environment, torch.get_num_threads(), 0)
    except (OSError, AttributeError):
        pass  # another system: slower where it matters, and otherwise the same
