"""Standard streams that were closed before the program began, as a daemon's are."""

from __future__ import annotations

import os
import sys

_closed: set[int] = set()


def open_closed_streams() -> None:
    """Let closed standard streams read and write nothing, as `/dev/null` does.

    Otherwise the next file that is opened would get their number, and whatever is written to standard error would land
    in it. `sys.stdin` stays None: there is nothing to read.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(number)
            null = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
            os.set_inheritable(null, True)
    if 1 in _closed or sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if 2 in _closed or sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def output_is_closed() -> bool:
    """Whether standard output was closed before the program began."""
    return 1 in _closed
