"""A whole run: from a configuration to a folder with checkpoints, metrics and the evaluation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint.contents import Loaded
from nmt.checkpoint.file import DamagedFile
from nmt.config.reading import differences, to_yaml
from nmt.config.run import Config
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import build_model
from nmt.system import files
from nmt.system.errors import UserError
from nmt.training import event_log
from nmt.training.distributed import ALONE, Ranks, job, restarted
from nmt.training.interruption import StopSignals
from nmt.training.loop import LAST, PREVIOUS, Task, train
from nmt.training.prepare import Prepared, describe, prepare


def run(config: Config, stop: StopSignals, *, resume: bool, ranks: Ranks = ALONE) -> Path:
    """Train what `config` describes and return the run's folder, `output_dir/name`.

    A new run needs a new folder; `resume` goes on from the folder's `last.pt`, or begins if there is none yet, and so
    does what torchrun starts anew after a failure, in the folder of that job.
    Raises `UserError` before anything is written if config, data or folder do not fit, and `Interrupted` if a stop is
    asked for before the first update.
    """
    folder = Path(config.output_dir) / config.name
    [goes_on] = ranks.total(resume or (ranks.leads and restarted() and _job_of(folder) == job()))
    resume = goes_on > 0
    if not resume:
        refuse_used(folder)  # now, and once more when nobody else can begin one there
    with stop.abandoning():
        prepared = prepare(config, ranks)
    source, target = prepared.pairs.source, prepared.pairs.target
    with _held(folder) if ranks.leads else nullcontext():
        if resume:
            loaded = _load_last(config, prepared, folder, ranks)
        else:
            loaded = None
            if ranks.leads:
                refuse_used(folder)
        torch.manual_seed(config.training.seed)
        if loaded is None:
            model = build_model(config.model, len(source.vocabulary), len(target.vocabulary)).to(prepared.device)
        else:
            model = loaded.model
        if ranks.leads:
            if (name := job()) is not None:
                files.write(folder / JOB, name.encode())
            files.write(folder / "config.yaml", to_yaml(config).encode())
            print(to_yaml(config))
            describe(prepared, model, config.training, ranks)
        task = Task(config, prepared.pairs, prepared.validation, model, folder, ranks)
        train(task, stop, loaded.training if loaded else None)
    return folder


def _job_of(folder: Path) -> str | None:
    """The job of torchrun that has last used the folder, if one has."""
    path = folder / JOB
    return path.read_text(encoding="utf-8") if path.exists() else None


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep the folder to this run alone. Raises `UserError` if another one has it."""
    with files.locked(folder / event_log.NAME, f"{folder} is in use by another run: wait for it, or stop it"):
        files.remove_temporary(folder)
        yield


def refuse_used(folder: Path) -> None:
    """Raise `UserError` if a run has left anything in the folder, or if it is none."""
    if not os.path.exists(folder):
        return
    if not folder.is_dir() or any(path.name != event_log.NAME or path.stat().st_size for path in folder.iterdir()):
        raise UserError(
            f"{folder} already holds a run; go on with it by --resume, or choose another by --set name=NAME"
        )


def _load_last(config: Config, prepared: Prepared, folder: Path, ranks: Ranks) -> Loaded | None:
    """The last checkpoint that is whole, or None before the first. Of several processes the first one looks for it."""
    if not ranks.leads:
        ranks.total(0)
    loaded, damaged = last_whole(folder, prepared.device)
    if damaged is not None:
        last, previous = folder / LAST, folder / PREVIOUS
        print(f"{damaged}. Going on from the checkpoint before it, {previous}", file=sys.stderr)
        if last.exists():
            last.replace(folder / "damaged.pt")
        previous.replace(last)
    elif loaded is None:
        print(f"{folder / LAST} does not exist yet: beginning anew")
    if ranks.leads:
        ranks.total(0)
    if loaded is not None:
        refuse_another(config, prepared.pairs, loaded, folder / LAST)
    return loaded


def refuse_another(config: Config, pairs: TrainingSet, loaded: Loaded, last: Path) -> None:
    """Raise `UserError` unless training can go on with this config and text from what was loaded from `last`."""
    if loaded.training is None:
        raise UserError(f"{last} serves translation alone, as best.pt does: training cannot go on from it")
    before, now = loaded.config.model_dump(include=_FIXED), config.model_dump(include=_FIXED)
    for field in differences(before, now):
        raise UserError(f"{last} was trained with another {field}; resume with that in {last.with_name('config.yaml')}")
    text = loaded.training.get("text"), loaded.source.vocabulary, loaded.target.vocabulary
    if text != (pairs.text, pairs.source.vocabulary, pairs.target.vocabulary):
        raise UserError(
            f"{last}: the training text, or what tokenises it, is another than that of this run; restore it"
        )


def last_whole(folder: Path, device: torch.device) -> tuple[Loaded | None, DamagedFile | None]:
    """The last checkpoint, or the one before it and what is wrong with the last; None before the first.

    Raises `UserError` if there is none to go on from, but a model.
    """
    last, previous = folder / LAST, folder / PREVIOUS
    if not last.exists() and not previous.exists():
        if (folder / "best.pt").exists():
            raise UserError(
                f"{folder} has best.pt, but neither {LAST} nor {PREVIOUS} to go on from: begin another run by "
                "--set name=NAME"
            )
        return None, None
    try:
        if not last.exists():
            raise DamagedFile(f"{last} is missing")
        return checkpoint.load(last, device), None
    except DamagedFile as error:
        if not previous.exists():
            raise
        return checkpoint.load(previous, device), error


JOB = "job"  # a file with the name of torchrun's job, where there is one

# What a resumed run must share with the first part, or its data order, weights or best score would make no sense.
_FIXED: Any = {
    "data": {"corpus", "source", "target", "joint_vocabulary", "max_length"},
    "model": True,
    "training": {
        "batch_size": True,
        "batch_unit": True,
        "seed": True,
        "optimizer": True,
        "weight_decay": True,
        "moving_average": True,
        "early_stopping": {"metric"},
    },
}
