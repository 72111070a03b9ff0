"""Ctrl-C, SIGTERM and a closed terminal: finish the update, save, and say how to continue, even if nothing reads it."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from types import FrameType
from typing import Any

_HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
_STOPPING = b"\nStopping after this update or validation, then saving. Press Ctrl-C again to stop immediately.\n"


class StopSignals:
    """Whether a stop was requested. A second signal stops the program immediately."""

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Catch SIGINT, SIGTERM and, unless it is ignored as by nohup, SIGHUP inside the block."""
        signals = [signal.SIGINT, signal.SIGTERM]
        if _HANG_UP is not None and signal.getsignal(_HANG_UP) != signal.SIG_IGN:
            signals.append(_HANG_UP)
        previous = {number: signal.signal(number, self._handle) for number in signals}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, _number: int, _: FrameType | None) -> None:
        self.requested = True
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop_now)
        if _HANG_UP is not None:
            signal.signal(_HANG_UP, signal.SIG_IGN)  # a terminal that is closed may send it twice
        with suppress(OSError):  # its reader has ended
            os.write(sys.stderr.fileno(), _STOPPING)  # Python's streams refuse it during another write


def _stop_now(number: int, frame: FrameType | None) -> None:
    sys.unraisablehook = lambda _: None  # objects that are cut off half-way complain as they are deleted
    signal.default_int_handler(number, frame)


@contextmanager
def tolerate_closed_output() -> Iterator[None]:
    """Discard what is written inside the block once the reader of the output has ended, as `tee` has after Ctrl-C."""
    stdout, stderr = map(_tolerant, (sys.stdout, sys.stderr))
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            yield
        finally:
            stdout.flush()
            stderr.flush()


class _TolerantFile(io.FileIO):
    """A file that discards what is written once its pipe is broken, or its terminal hung up."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            return len(data)


def _tolerant(stream: Any) -> Any:
    """A stream like this one, with a tolerant file; the same one, where it has no file, as in a notebook."""
    try:
        stream.flush()
        file = io.BufferedWriter(_TolerantFile(stream.fileno(), "w", closefd=False))
        return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
    except (OSError, AttributeError):
        return stream
