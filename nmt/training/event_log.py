"""What training measures: `metrics.jsonl`, one object per line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from nmt.system.errors import UserError
from nmt.system.files import report_write_errors

NAME = "metrics.jsonl"
TENSORBOARD = "tensorboard"  # the folder of its files, in a run's folder


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The events of a run so far, without a line that is still being written; an empty list before the first one."""
    path = folder / NAME
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []  # text would be cut at U+2028, too
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


class RemovedFile(UserError):
    """`metrics.jsonl` was removed while it was written. Raised once: afterwards a checkpoint can be saved."""


class EventLog:
    """Appends events to a run's `metrics.jsonl`, and passes each to `follow`, such as that of its trackers."""

    def __init__(self, folder: Path | None, size: int = 0, follow: Callable[[dict[str, Any]], None] | None = None):
        """Continue where the file had `size` bytes: later events are cut off. Without a folder nothing is kept."""
        self._folder, self._path = folder, (folder or Path()) / NAME
        self._follow = follow
        with report_write_errors(self._path):
            self._file = self._path.open("ab") if folder else TemporaryFile()  # noqa: SIM115  # until `close`
            self._file.truncate(min(size, self._file.tell()))
            self._file.seek(0, os.SEEK_END)

    @property
    def size(self) -> int:
        """The file's length in bytes, after all events so far are written to disk."""
        with report_write_errors(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def write(self, event: str, update: int, epoch: int, **values: Any) -> dict[str, Any]:
        """Add an event, and return it. Raises `UserError` if the disk is full, and as `refuse_removed` does."""
        finite = {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in values.items()}
        entry = {"event": event, "update": update, "epoch": epoch} | finite  # JSON lacks infinity and nan
        self.refuse_removed()
        with report_write_errors(self._path):
            self._file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        if self._follow is not None:
            self._follow(entry)
        return entry

    def refuse_removed(self) -> None:
        """Raise `RemovedFile` if the file was removed, `UserError` if it was replaced: the folder is another run's."""
        if self._folder is None:
            return
        try:
            if os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno())):
                return
        except OSError:
            self._folder = None
            raise RemovedFile(f"{self._path} was removed during training: continue with --resume") from None
        fix = "if the folder still holds this run, continue with --resume, else start over with --set name=NAME"
        raise UserError(f"{self._path} was replaced during training, so nothing more was saved: {fix}")

    def close(self) -> None:
        with suppress(OSError):  # a full disk was reported when the event was written
            self._file.close()
