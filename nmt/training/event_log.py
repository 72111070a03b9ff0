"""What is measured in training: `metrics.jsonl`, one object per line, and TensorBoard's files if it is installed."""

from __future__ import annotations

import importlib.util
import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from nmt.system.errors import UserError
from nmt.system.files import report_write_errors
from nmt.training.curves import Curves

NAME = "metrics.jsonl"


class RemovedFile(UserError):
    """`metrics.jsonl` was removed while it was written."""


class ReplacedFile(RemovedFile):
    """Another file has its name now: the folder belongs to another run."""


class EventLog:
    """Appends events to a run's `metrics.jsonl`, and their numbers to TensorBoard's event files beside it."""

    def __init__(self, folder: Path | None, size: int = 0, update: int = 0) -> None:
        """Continue after a checkpoint's update, when the file had `size` bytes: later events are cut off.

        Without a folder, which is for processes other than the first, nothing is kept.
        """
        self._path = Path(NAME) if folder is None else folder / NAME
        with report_write_errors(self._path):
            self._file = TemporaryFile() if folder is None else self._path.open("ab")  # noqa: SIM115  # until `close`
            self._file.truncate(min(size, self._file.tell()))
            self._file.seek(0, os.SEEK_END)
        self._keeps = folder is not None
        self._tensorboard = None if folder is None else _summary_writer(folder, update)

    @property
    def size(self) -> int:
        """The file's length in bytes, after all events so far are written to disk."""
        with report_write_errors(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def write(self, event: str, update: int, epoch: int, **values: Any) -> dict[str, Any]:
        """Add an event, and return it as it was given; the file gets what `finite` makes of it.

        Raises `RemovedFile` if the file is gone, `UserError` if it cannot be written.
        """
        entry = {"event": event, "update": update, "epoch": epoch} | values
        self.refuse_removed()
        with report_write_errors(self._path):
            self._file.write(json.dumps(finite(entry), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        if self._tensorboard is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._tensorboard.add_scalar(f"{event}/{name}", value, update)
        return entry

    def refuse_removed(self) -> None:
        """Raise `RemovedFile` if the file is gone, or if another one stands in its place."""
        if not self._keeps:
            return
        try:
            if os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno())):
                return
        except OSError:
            raise RemovedFile(f"{self._path} was removed during training") from None
        raise ReplacedFile(f"{self._path} was replaced during training, as if the folder were another run's now")

    def close(self) -> None:
        with suppress(OSError):  # a full disk was reported when the event was written
            self._file.close()
        if self._tensorboard is not None:
            self._tensorboard.close()


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with null for those numbers that JSON cannot spell: infinity and nan."""
    return {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in values.items()}


def tensorboard_folder(folder: Path) -> Path | None:
    """Where a run's curves are, or None if TensorBoard is not installed."""
    return folder / "tensorboard" if importlib.util.find_spec("tensorboard") else None


def _summary_writer(folder: Path, update: int) -> Any:
    try:
        return Curves(folder / "tensorboard", update)
    except ImportError:
        return None
