"""A process that starts fast."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_for_good() -> Iterator[None]:
    """What is imported and loaded in this block lives as long as the process: no garbage collector looks through it.

    Importing torch and spaCy makes objects by the hundred thousand, hardly one of them garbage. To look through them
    while they are made, and once more at the exit, takes a third of the time in which one sentence is translated.
    """
    was_enabled = gc.isenabled()
    gc.collect()  # what is garbage already shall not be kept
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
