"""Runs of training, as a page follows them: their ids, their configs, and what is new in their `metrics.jsonl`.

A run is a folder with that file, anywhere below the folder of all runs. Its id is made of its path there, so that it is
the same in all processes of a server and after a restart.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.config.yaml_text import LONGEST, parse_yaml
from nmt.system.errors import UserError
from nmt.system.values import shown

METRICS, CONFIG = "metrics.jsonl", "config.yaml"
DEEPEST = 4  # folders below the folder of all runs
MOST_RUNS = 500
AT_ONCE = 1 << 20  # bytes of a file that are read at a time


@dataclass(frozen=True)
class Run:
    """A run by its id. `name` is its path in the folder of all runs; `changed` when it last measured, in Unix time."""

    id: str
    name: str
    folder: Path
    changed: float


def runs_in(folder: Path) -> dict[str, Run]:
    """The runs below a folder by their ids, those that measured last first; none if there is no such folder."""
    runs = []
    for path in _folders(folder, DEEPEST):
        try:
            changed = (path / METRICS).stat().st_mtime
        except OSError:
            continue
        name = path.relative_to(folder).as_posix()
        number = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        runs.append(Run(number, name.encode("utf-8", "replace").decode(), path, changed))
    runs.sort(key=lambda run: (-run.changed, run.name))
    return {run.id: run for run in runs[:MOST_RUNS]}


def _folders(folder: Path, deepest: int) -> Iterator[Path]:
    """The folders below a folder; links to others are not followed."""
    try:
        entries = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in entries:
        yield Path(entry)
        if deepest > 1:
            yield from _folders(Path(entry), deepest - 1)


def config_of(run: Run) -> dict[str, Any]:
    """The settings of a run by their full names, such as `model.cell`; none if its config cannot be read."""
    try:
        with (run.folder / CONFIG).open("rb") as file:
            text = file.read(4 * LONGEST + 1).decode("utf-8")  # a character has up to 4 bytes
        values = parse_yaml(text, CONFIG)
    except (OSError, UnicodeDecodeError, UserError):
        return {}
    return dict(_flat(values)) if isinstance(values, dict) else {}


def _flat(values: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            plain = value is None or isinstance(value, bool | str)
            yield f"{prefix}{name}", value if plain else shown(value)  # JSON does not have all of YAML's numbers


class Follower:
    """Reads a run's events as they come. It begins again when the file was cut, as a resumed run does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._last = b""  # the line before the position

    def news(self) -> tuple[bool, list[dict[str, Any]]] | None:
        """The events since the last call, or None. The first value says whether they replace all earlier ones."""
        try:
            with self._path.open("rb") as file:
                begins = self._position == 0 or self._was_cut(file)
                if begins:
                    self._position, self._last = 0, b""
                file.seek(self._position)
                block = file.read(AT_ONCE)
        except OSError:
            return None
        complete = block[: block.rfind(b"\n") + 1]
        if not complete:
            return None
        self._position += len(complete)
        lines = complete.splitlines(keepends=True)
        self._last = lines[-1]
        return begins, [event for line in lines if (event := _event(line)) is not None]

    def _was_cut(self, file: Any) -> bool:
        file.seek(self._position - len(self._last))
        return bool(file.read(len(self._last)) != self._last)


def _event(line: bytes) -> dict[str, Any] | None:
    """The event of a line; None for one that is no object. Numbers that JSON cannot express are null."""
    try:
        event = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
