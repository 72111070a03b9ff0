"""The files in a run's folder: which run may use it, and the checkpoints in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from nmt.checkpoint.contents import Loaded, load
from nmt.checkpoint.file import DamagedFile
from nmt.system import files
from nmt.system.errors import UserError
from nmt.training import event_log

LAST, PREVIOUS = "last.safetensors", "previous.safetensors"  # the checkpoints to continue from
BEST = "best.safetensors"  # the model with the best validation, for translation alone
CONFIG = "config.yaml"
LOG = "log.txt"  # the printed output of an ablation's run
_RENAME = "choose another name with --set name=NAME"
_ANOTHER = "Start another run: --set name=NAME"


def refuse_used(folder: Path) -> None:
    """Raise `UserError` if a run has left anything in the folder, or if it is not a folder."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder: move it, or {_RENAME}")
    names = _names(folder)
    if not names or (names == {event_log.NAME} and (folder / event_log.NAME).stat().st_size == 0):
        return
    if names.isdisjoint((event_log.NAME, LAST, PREVIOUS, BEST)):
        raise UserError(f"{folder} holds other files, such as {min(names)}: move them, or {_RENAME}")
    raise UserError(f"{folder} already holds a run: continue it with --resume, or {_RENAME}")


def refuse_other_files(folder: Path) -> None:
    """Raise `UserError` if a folder without checkpoints holds more than a run leaves before its first one."""
    names = _names(folder)
    if "last.pt" in names and LAST not in names:
        raise UserError(f"{folder} holds a run of nmt 0.3 or older: convert it with nmt migrate {folder} {folder}")
    if not names.isdisjoint((LAST, PREVIOUS, BEST)):
        return  # errors in a run's own checkpoints are reported when they are loaded
    expected = {event_log.NAME, LOG}
    if event_log.NAME in names:  # which comes first
        expected |= {CONFIG, event_log.TENSORBOARD}
    if unexpected := [name for name in names - expected if not name.endswith(files.TEMPORARY)]:
        raise UserError(
            f"{folder} has no {LAST} to resume from, but other files, such as {min(unexpected)}: move them, "
            f"or {_RENAME}"
        )


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep the folder to this run alone. Raises `UserError` if another run is using it."""
    with files.locked(folder / event_log.NAME, f"{folder} is in use by another run: wait for it, or stop it"):
        files.remove_temporary(folder)
        yield


def load_last_intact(folder: Path, device: torch.device) -> tuple[Loaded | None, DamagedFile | None]:
    """The last checkpoint, or the one before it and the damage to the last one; None before the first.

    Raises `UserError` if there is a model, but no checkpoint to continue from.
    """
    last, previous, best = folder / LAST, folder / PREVIOUS, folder / BEST
    if not last.exists() and not previous.exists():
        if not best.exists():
            return None, None
        raise UserError(f"{folder} has {BEST}, but neither {LAST} nor {PREVIOUS} to continue from: {_ANOTHER}")
    damages: list[DamagedFile] = []
    for path in (last, previous):
        try:
            if path.exists():
                return load(path, device), damages[0] if damages else None
            damages.append(DamagedFile(f"{path} is missing"))
        except DamagedFile as error:
            damages.append(error)
    weights = f" --set training.start_from={best}" if best.exists() else ""
    raise DamagedFile(f"{damages[0]}. {damages[1]}. {_ANOTHER}{weights}")


def keep_checkpoint(folder: Path, update: int, count: int) -> None:
    """Copy `last.safetensors` to `update_N.safetensors`, and keep only the `count` latest of such files.

    Older ones are removed first, so that a crash leaves at most `count` of them.
    """
    path = folder / f"update_{update:06d}.safetensors"
    older = [old for _, old in sorted(kept_checkpoints(folder).items()) if old != path]
    for old in older[: max(0, len(older) + 1 - count)]:
        old.unlink(missing_ok=True)
    files.write(path, (folder / LAST).read_bytes())


def kept_checkpoints(folder: Path) -> dict[int, Path]:
    """The files of `keep_checkpoint` by their updates."""
    by_number = ((path.stem.removeprefix("update_"), path) for path in folder.glob("update_*.safetensors"))
    return {int(number): path for number, path in by_number if number.isdecimal()}
