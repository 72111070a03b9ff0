"""The beginning of a process: closed standard streams, and imports that Ctrl-C stops at once."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

_closed: set[int] = set()  # standard streams that were closed before the program began, as a daemon's are


def open_closed_streams() -> None:
    """Let closed standard streams read and write nothing, as `/dev/null` does; `sys.stdin` stays None.

    Otherwise the next file that is opened would get their number, and what is written to standard error would be in it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(number)
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number: this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def output_is_closed() -> bool:
    """Whether standard output was closed before the program began."""
    return 1 in _closed


def stop_imports_on_ctrl_c() -> None:
    """From now on, Ctrl-C during an import ends the process at once, with exit code 130.

    Some modules of PyTorch and NumPy drop a `KeyboardInterrupt` while they are imported, or turn it into an
    `ImportError`. Nothing changes in other threads than the main one, and where SIGINT is ignored or handled.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # another thread
            signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            with suppress(Exception):  # a stream that is closed, or in the middle of a write
                sys.stdout.flush()
                print("\nStopped.", file=sys.stderr, flush=True)
            os._exit(130)
        frame = frame.f_back
    signal.default_int_handler(number, frame)
