"""Loading modules and models: without garbage collection, and so that Ctrl-C stops it at once."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Exempt whatever is imported and loaded in this block from garbage collection, for the life of the process.

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
def stop_imports_on_ctrl_c() -> Iterator[None]:
    """Inside the block, Ctrl-C during an import ends the process at once, with exit code 130.

    Some modules of PyTorch and NumPy drop a `KeyboardInterrupt` while they are imported, or turn it into an
    `ImportError`. At any other time Ctrl-C raises `KeyboardInterrupt`, as without the block, which also does nothing in
    other threads than the first and where SIGINT is ignored or already handled.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not (in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
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
            with suppress(Exception):  # a stream that is closed, or in the middle of a write
                sys.stdout.flush()
                print("\nStopped.", file=sys.stderr, flush=True)
            os._exit(130)
        frame = frame.f_back
    signal.default_int_handler(number, frame)
