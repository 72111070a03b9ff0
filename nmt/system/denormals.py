"""Values below 1e-38 (denormal numbers) count as 0.

A peaked softmax leaves weights of 1e-39, which some CPUs multiply a hundred times slower than others: whole products
ran at a seventh of their speed. Nothing that small changes a translation.
"""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import torch

_thread = threading.local()


def flush_denormals() -> None:
    """Flush denormal numbers to 0 in this thread, and in the threads among which PyTorch divides its work.

    The CPU keeps this setting for each thread, and a new thread inherits it. PyTorch sets it for the calling thread
    alone. If this thread has divided work before, OpenMP therefore runs the C library's `fesetenv` in all of its
    threads (GNU's only). Repeated calls in one thread cost nothing.
    """
    if getattr(_thread, "flushes", False):
        return
    _thread.flushes = True
    if torch.set_flush_denormal(True) and not flushed_everywhere():
        _set_in_openmp_threads()


def flushed_everywhere() -> bool:
    """Whether denormal numbers are flushed in all threads that share a product."""
    count = torch.get_num_threads() * 2**16  # PyTorch gives each thread at least 2**15 values
    smallest = torch.ones(count, dtype=torch.int32).view(torch.float32)  # 1e-45
    return not bool((smallest * 1).view(torch.int32).any())


def _set_in_openmp_threads() -> None:
    try:
        process = ctypes.CDLL(None)
        environment = ctypes.create_string_buffer(256)  # an fenv_t has 32 bytes or fewer
        process.fegetenv(environment)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        for path in {line.split(maxsplit=5)[-1] for line in maps if "libgomp" in line}:  # packages bring their own
            ctypes.CDLL(path).GOMP_parallel(process.fesetenv, environment, torch.get_num_threads(), 0)
    except (OSError, AttributeError):
        pass  # another system: slower where it matters, and otherwise the same
