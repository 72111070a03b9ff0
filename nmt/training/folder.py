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


def require_folder(folder: Path, *, resume: bool) -> None:
    """Raise `UserError` unless a new run may use the folder, or with `resume` the one that it holds may continue."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    holds_run = not names.isdisjoint((LAST, PREVIOUS, BEST))
    if resume and "last.pt" in names and LAST not in names:
        raise UserError(f"{folder} holds a run of nmt 0.3 or older: convert it with nmt migrate {folder} {folder}")
    if resume and holds_run:
        return  # errors in a run's own checkpoints are reported when they are loaded
    expected = {event_log.NAME, LOG}
    if event_log.NAME in names:  # which comes first
        holds_run = holds_run or (folder / event_log.NAME).stat().st_size > 0
        expected |= {CONFIG, event_log.TENSORBOARD}
    if holds_run and not resume:
        raise UserError(f"{folder} already holds a run: continue it with --resume, or {_RENAME}")
    if others := [name for name in names - expected if not name.endswith(files.TEMPORARY)]:
        raise UserError(f"{folder} has no {LAST}, but other files, such as {min(others)}: move them, or {_RENAME}")


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep the folder to this run alone. Raises `UserError` if another run is using it."""
    with files.locked(folder / event_log.NAME, f"{folder} is in use by another run: wait for it, or stop it"):
        for abandoned in folder.glob(f".*{files.TEMPORARY}"):  # by processes that were killed while they wrote
            files.remove(abandoned)
        yield


def load_last_intact(folder: Path, device: torch.device) -> tuple[Loaded | None, DamagedFile | None]:
    """The last checkpoint, or the one before it and the last one's damage; None before the first."""
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
