"""Standard streams that were closed before the process began."""

import os
import sys

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
