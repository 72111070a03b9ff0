"""The files in a run's folder: which run may use it, and the checkpoints in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.system import files
from nmt.system.errors import UserError
from nmt.training import event_log

LAST, PREVIOUS = "last.pt", "previous.pt"  # the checkpoints to continue from
BEST = "best.pt"  # the model with the best validation, for translation alone
CONFIG = "config.yaml"
JOB = "job"  # the name of torchrun's job, where there is one
LOG = "log.txt"  # what a run of the ablation prints


def refuse_used(folder: Path) -> None:
    """Raise `UserError` if a run has left anything in the folder, or if it is not a folder."""
    if not os.path.exists(folder):
        return
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: move it, or choose another name with --set name=NAME")
    if any(path.name != event_log.NAME or path.stat().st_size for path in folder.iterdir()):
        _refuse_without_run(folder)
        raise UserError(
            f"{folder} already holds a run: continue it with --resume, or choose another name with --set name=NAME"
        )


def _refuse_without_run(folder: Path) -> None:
    if not any((folder / name).exists() for name in (event_log.NAME, LAST, PREVIOUS, BEST)):
        other = min(path.name for path in folder.iterdir())
        raise UserError(
            f"{folder} holds other files, such as {other}: move them, or choose another name with --set name=NAME"
        )


def refuse_other_files(folder: Path) -> None:
    """Raise `UserError` if a folder without checkpoints holds more than a run leaves before its first one."""
    if not folder.is_dir() or any((folder / name).exists() for name in (LAST, PREVIOUS, BEST)):
        return  # what is wrong with a run's own checkpoints is said when they are loaded
    names = {path.name for path in folder.iterdir() if not path.name.endswith(files.TEMPORARY)}
    begun = {CONFIG, JOB, "tensorboard"} if event_log.NAME in names else set()  # which comes first
    if other := sorted(names - begun - {event_log.NAME, LOG}):
        raise UserError(
            f"{folder} has no {LAST} to resume from, but other files, such as {other[0]}: move them, or choose another "
            "name with --set name=NAME"
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep the folder to this run alone. Raises `UserError` if another run is using it."""
    with files.locked(folder / event_log.NAME, f"{folder} is in use by another run: wait for it, or stop it"):
        files.remove_temporary(folder)
        yield


def job_of(folder: Path) -> str | None:
    """The job of torchrun that has last used the folder, if one has."""
    path = folder / JOB
    return path.read_text(encoding="utf-8") if path.exists() else None


def keep_checkpoint(folder: Path, update: int, count: int) -> None:
    """Keep `last.pt` as `update_N.pt`, too, and of such files only the `count` latest.

    Older ones are removed first, so that a crash leaves at most `count` of them. The file is another name (a hard link)
    of `last.pt`, or where the file system has no such links, a copy.
    """
    path = folder / f"update_{update:06d}.pt"
    others = [old for _, old in sorted(kept_checkpoints(folder).items()) if old != path]
    for old in others[: max(0, len(others) + 1 - count)]:
        old.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{files.TEMPORARY}")
    try:
        os.link(folder / LAST, temporary)
        temporary.replace(path)
    except OSError:  # no links here
        files.write(path, (folder / LAST).read_bytes())
    finally:
        temporary.unlink(missing_ok=True)


def kept_checkpoints(folder: Path) -> dict[int, Path]:
    """The files of `keep_checkpoint` by their updates."""
    numbered = ((path.stem.removeprefix("update_"), path) for path in folder.glob("update_*.pt"))
    return {int(number): path for number, path in numbered if number.isdecimal()}
