"""Ctrl-C, SIGTERM and a closed terminal: finish the update, save, and say how to continue.

That also works if nothing reads the output.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    """Raised by a signal during work that can be abandoned and repeated. No `except Exception` catches it."""


class StopSignals:
    """Whether a stop was asked for. A second signal stops the program immediately."""

    def __init__(self) -> None:
        self.requested = False
        self._abandon = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Catch SIGINT, SIGTERM and, unless it is ignored as by nohup, SIGHUP inside the block."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def abandoning(self) -> Iterator[None]:
        """Inside the block, which must change nothing before it ends, a signal raises `Interrupted` immediately.

        Where a library drops that, or turns it into an error of its own, it is raised at the end of the block.
        """
        self._abandon = True
        try:
            if self.requested:
                raise Interrupted
            yield
        except Exception:
            if not self.requested:
                raise
        finally:
            self._abandon = False
        if self.requested:
            raise Interrupted

    def _handle(self, _number: int, _: FrameType | None) -> None:
        self.requested = True
        for either in (signal.SIGINT, signal.SIGTERM):
            signal.signal(either, _stop_now)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a terminal that is closed may send it twice
        _say("\nStopping after this update, then saving. Press Ctrl-C again to stop immediately.\n")
        if self._abandon:
            raise Interrupted


def _say(text: str) -> None:
    """Write text to standard error, also while something else is being written there."""
    stream = sys.stderr
    if stream is None:  # closed from the beginning
        return
    try:
        stream.write(text)
        stream.flush()
    except RuntimeError:  # Python's streams refuse it
        with suppress(OSError):  # nobody reads it any more
            os.write(stream.fileno(), text.encode())


def _stop_now(number: int, frame: FrameType | None) -> None:
    sys.unraisablehook = lambda _: None  # objects that are cut off half-way complain as they are deleted
    signal.default_int_handler(number, frame)


@contextmanager
def lasting_output() -> Iterator[None]:
    """Inside the block, writing does not fail when the reader of the output is gone, as `tee` is after Ctrl-C.

    What is written there afterwards is lost.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and _Lasting(stream) for stream in before)  # None: closed from the beginning
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before


class _Lasting:
    """A text stream that discards what is written once its pipe is broken, or its terminal hung up."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._lasting():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._lasting():
            self._stream.flush()

    @contextmanager
    def _lasting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
