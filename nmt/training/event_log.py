"""What is measured in training: `metrics.jsonl`, an object a line, and TensorBoard if it is installed."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from nmt.system.files import writing

NAME = "metrics.jsonl"


class MetricsLog:
    """Appends events to a run's `metrics.jsonl`, and their numbers to TensorBoard's event files beside it."""

    def __init__(self, folder: Path | None, size: int = 0, update: int = 0) -> None:
        """Go on from a checkpoint's update, when the file had `size` bytes: what was written after it is cut.

        Where another process keeps the log, there is no folder, and nothing is written.
        """
        self._path = Path(NAME) if folder is None else folder / NAME
        with writing(self._path):
            self._file = TemporaryFile() if folder is None else self._path.open("ab")  # noqa: SIM115  # until `close`
            self._file.truncate(min(size, self._file.tell()))
            self._file.seek(0, os.SEEK_END)
        self._tensorboard = None if folder is None else _summary_writer(folder, update)

    @property
    def size(self) -> int:
        """The file's length in bytes, all events so far written to disk."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def write(self, event: str, update: int, epoch: int, **values: Any) -> None:
        """Add an event. Numbers that JSON has no word for (infinite, not a number) become null.

        Raises `UserError` if the file cannot be written.
        """
        entry = {"event": event, "update": update, "epoch": epoch}
        entry |= {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in values.items()}
        with writing(self._path):
            self._file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        if self._tensorboard is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._tensorboard.add_scalar(f"{event}/{name}", value, update)

    def close(self) -> None:
        with suppress(OSError):  # what a full disk has not taken was said when it was written
            self._file.close()
        if self._tensorboard is not None:
            self._tensorboard.close()


def _summary_writer(folder: Path, update: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=update + 1)
