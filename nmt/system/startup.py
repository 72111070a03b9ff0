"""Starting fast, and stopping at once: what holds while modules and models are loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType

_META_KERNELS = "torch._meta_registrations"


@contextmanager
def kept_for_good() -> Iterator[None]:
    """Exempt from garbage collection whatever is imported and loaded in this block, for the life of the process.

    Importing torch and spaCy creates hundreds of thousands of objects, hardly any of them garbage. Searching them for
    garbage meanwhile, and again at exit, takes a third of the time that translating one sentence takes.
    """
    was_enabled = gc.isenabled()
    gc.collect()  # what is garbage by now must not be kept
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@contextmanager
def without_meta_kernels() -> Iterator[None]:
    """If torch is first imported in this block, its Python kernels for the meta device are left out.

    They take a fifth of `import torch`, and serve tracing (`torch.compile`, `torch.export`) and operations on meta
    tensors. This is for processes that do neither. The module is private. A PyTorch that has no such module
    is imported whole, and one that was imported before stays as it is.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules[_META_KERNELS] = ModuleType(_META_KERNELS)
    try:
        yield
    finally:
        del sys.modules[_META_KERNELS]  # who asks for it later gets it


@contextmanager
def imports_stopped_by_ctrl_c() -> Iterator[None]:
    """Inside the block, Ctrl-C during an import ends the process at once, with exit code 130.

    Some modules of PyTorch and NumPy drop a `KeyboardInterrupt` while they are imported, or turn it into an
    `ImportError`. At any other time Ctrl-C raises `KeyboardInterrupt`, as without the block, which also does nothing in
    other threads than the first and where SIGINT is ignored or already handled.
    """
    own = threading.current_thread() is threading.main_thread()
    if not (own and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            with suppress(Exception):  # a stream that is being written, or nobody's any more
                sys.stdout.flush()
                print("\nStopped.", file=sys.stderr, flush=True)
            os._exit(130)
        frame = frame.f_back
    signal.default_int_handler(number, frame)
