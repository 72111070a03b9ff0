"""TensorBoard's event files. All that they hold is in `metrics.jsonl` too, so that training can go on without them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt.system.files import report_write_errors


class Curves:
    """Writes numbers to a folder of TensorBoard's; once they cannot be written, says so and writes no more."""

    def __init__(self, folder: Path, update: int) -> None:
        """Begin after an update: what the folder has of later ones is hidden.

        Raises ImportError if TensorBoard is not installed, `UserError` if the folder cannot be written.
        """
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        _silence_writing_threads()
        with report_write_errors(folder):
            self._writer: Any = SummaryWriter(str(folder), purge_step=update + 1)

    def add_scalar(self, name: str, value: int | float, update: int) -> None:
        self._attempt(lambda: self._writer.add_scalar(name, value, update))

    def close(self) -> None:
        self._attempt(lambda: self._writer.close())
        self._writer = None

    def _attempt(self, write: Callable[[], object]) -> None:
        if self._writer is None:
            return
        try:
            write()
        except OSError as error:
            self._writer = None
            reason = error.strerror or error
            print(f"{self._folder} cannot be written any more ({reason}): its curves end here", file=sys.stderr)


def _silence_writing_threads() -> None:
    """TensorBoard writes in a thread, whose error the next write raises here, too: one report is enough."""
    before = threading.excepthook

    def report(error: threading.ExceptHookArgs) -> None:
        if not type(error.thread).__module__.startswith("tensorboard"):
            before(error)

    threading.excepthook = report
