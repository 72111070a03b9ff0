"""Resuming: which checkpoint, whether it fits this run, and what it holds so that training continues bit for bit."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from nmt.checkpoint.contents import Loaded
from nmt.checkpoint.file import DamagedFile
from nmt.checkpoint.weights import check_weights
from nmt.config.reading import differences, explain
from nmt.config.run import Config
from nmt.config.search import SearchConfig
from nmt.optimizers import OPTIMIZERS
from nmt.system.errors import UserError
from nmt.system.files import report_write_errors
from nmt.system.values import shown
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.folder import BEST, CONFIG, LAST, PREVIOUS, load_last_intact
from nmt.training.prepare import Prepared
from nmt.training.train_state import TrainState


class _TrainingState(BaseModel):
    """The `training` section of a checkpoint."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    state: Counters
    optimizer: dict[str, Tensor]  # by a parameter's number, in the model's order, and the moment's name: `3.exp_avg`
    average: dict[str, Tensor] | None
    text: str  # a digest of all training text
    validation: str | None  # a digest of the validation text; nmt 0.1 kept none
    random: Tensor  # the state of each process's generator, a row each
    random_cuda: Tensor | None
    metrics_size: Annotated[int, Field(ge=0, lt=2**63)]


def seed_processes(seed: int, group: ProcessGroup) -> None:
    """Have each process draw other random numbers. The first one continues with those of the seed."""
    if not group.is_main:
        torch.manual_seed(random.Random(f"{seed} {group.rank}").getrandbits(63))


def training_state(
    counters: Counters, train_state: TrainState, text: str, validation: str, metrics_size: int, group: ProcessGroup
) -> dict[str, Any]:
    """What a checkpoint needs beside model and config, as plain values and tensors. Every process must call it.

    `text` and `validation` are digests of the training and the validation text, `metrics_size` is the length of
    `metrics.jsonl` in bytes.
    """
    random_states = group.gather(torch.get_rng_state())
    on_gpu = train_state.model.device.type == "cuda"
    return {
        "state": asdict(counters),
        "optimizer": _moments(train_state),
        "average": None if train_state.average is None else dict(train_state.average.model.state_dict()),
        "text": text,
        "validation": validation,
        "random": torch.stack(random_states),
        "random_cuda": torch.stack(group.gather(torch.cuda.get_rng_state())) if on_gpu else None,
        "metrics_size": metrics_size,
    }


def restore(train_state: TrainState, training: dict[str, Any], path: str, group: ProcessGroup) -> tuple[Counters, int]:
    """Restore the train state and the random generators; returns where training stood, and the size of `metrics.jsonl`.

    Raises `DamagedFile`, with the checkpoint's path, if the state does not fit the model, and `UserError` if the number
    of processes has changed.
    """
    checked = _check(training, path, group)
    _load_optimizer(train_state, checked.optimizer, path)
    average = None if train_state.average is None else train_state.average.model
    check_weights(f"{path}: average", {} if average is None else average.state_dict(), checked.average or {})
    if average is not None and checked.average is not None:
        average.load_state_dict(checked.average)
    try:
        torch.set_rng_state(checked.random[group.rank].clone())
        if checked.random_cuda is not None and train_state.model.device.type == "cuda":
            torch.cuda.set_rng_state(checked.random_cuda[group.rank].clone())
    except (IndexError, RuntimeError, TypeError) as error:
        raise DamagedFile(f"{path}: its state of the random generator cannot be used ({error})") from None
    return checked.state, checked.metrics_size


def _check(training: dict[str, Any], path: str, group: ProcessGroup) -> _TrainingState:
    """The state, as far as it can be checked without a model. Raises what `restore` does."""
    try:
        checked = _TrainingState.model_validate(training)
    except ValidationError as error:
        raise DamagedFile(f"{path} cannot be resumed from: {explain(error)}") from None
    _check_counters(checked.state, path)
    processes = len(checked.random) if checked.random.dim() else 0
    if processes != group.size:
        before = "1 process" if processes == 1 else f"{processes} processes"
        raise UserError(f"{path} was trained by {before}, and not by {group.size}: resume with {before}")
    return checked


def _check_counters(counters: Counters, path: str) -> None:
    """Raise `DamagedFile` unless training can have stood there: nothing negative, nothing that is not a number."""
    for name, value in asdict(counters).items():
        if value is not None and not (0 <= value < 2**63 or (name in ("best", "best_loss") and value == math.inf)):
            raise DamagedFile(f"{path}: training.state.{name} cannot be {shown(value)}: use another copy")
    if counters.validated > counters.update:
        raise DamagedFile(f"{path}: training.state.validated is above update: use another copy")


def _load_optimizer(train_state: TrainState, moments: dict[str, Tensor], path: str) -> None:
    """Give the optimizer each parameter's moments; none at all are those before the first update."""
    check_weights(f"{path}: optimizer", _empty_moments(train_state) if moments else {}, moments)
    state: dict[int, dict[str, Tensor]] = {}
    for name, moment in moments.items():
        number, _, kind = name.partition(".")
        if kind not in _SIGNED and bool((moment < 0).any()):
            raise DamagedFile(f"{path}: optimizer: {name} is negative: use another copy")
        state.setdefault(int(number), {})[kind] = moment
    # A parameter that waits for its first gradient has no state.
    state = {number: of_parameter for number, of_parameter in state.items() if of_parameter.get("step", 1) > 0}
    groups = train_state.optimizer.state_dict()["param_groups"]
    train_state.optimizer.load_state_dict({"state": state, "param_groups": groups})


def _moments(train_state: TrainState) -> dict[str, Tensor]:
    """Each parameter's moments: zeros while it waits for its first gradient. Before the first update there are none."""
    state = train_state.optimizer.state_dict()["state"]
    moments = {f"{number}.{kind}": moment for number, of_one in state.items() for kind, moment in of_one.items()}
    return {
        name: moments[name] if name in moments else torch.zeros_like(empty, device=train_state.model.device)
        for name, empty in (_empty_moments(train_state) if state else {}).items()
    }


def _empty_moments(train_state: TrainState) -> dict[str, Tensor]:
    """The moments of all parameters as tensors without values."""
    return {
        f"{number}.{kind}": torch.empty(() if kind == "step" else weight.shape, device="meta")
        for number, weight in enumerate(train_state.model.parameters())
        for kind in train_state.moments
    }


def load_last(config: Config, prepared: Prepared, folder: Path, group: ProcessGroup) -> Loaded | None:
    """The last checkpoint that is not damaged, or None before the first. A damaged one is moved out of the way.

    Raises `UserError` if training cannot continue from it with this config and text, or if other processes find another
    one.
    """
    if not group.is_main:
        group.wait()
    loaded, damaged = load_last_intact(folder, prepared.device)
    if damaged is not None:
        last, previous = folder / LAST, folder / PREVIOUS
        print(f"{damaged}. Continuing from the checkpoint before it, {previous}", file=sys.stderr)
        with report_write_errors(kept := folder / "damaged.safetensors"):
            if last.exists():
                last.replace(kept)
            previous.replace(last)
    elif loaded is None:
        print(f"{folder / LAST} does not exist yet: starting from the beginning", file=sys.stderr)
    if group.is_main:
        group.wait()
    if len(set(group.gather(repr(loaded and (loaded.training or {}).get("state"))))) > 1:
        raise UserError(
            f"{folder / LAST} is not the same on all machines: they must share the folder {config.output_dir}"
        )
    if loaded is not None:
        training = check_continues(config, prepared, loaded, folder / LAST)
        _check(training, str(folder / LAST), group)
    return loaded


def check_continues(config: Config, prepared: Prepared, loaded: Loaded, last: Path) -> dict[str, Any]:
    """The training state of what was loaded from `last`.

    Raises `UserError` unless training with this config and text can continue from there.
    """
    if loaded.training is None:
        raise UserError(f"{last} is for translation only, like {BEST}: training cannot continue from it")
    before, now = (each.model_dump(include=_FIXED, exclude=_PATHS) for each in (loaded.config, config))
    for field in differences(before, now):
        raise UserError(f"{last} was trained with another {field}: resume with the one in {last.with_name(CONFIG)}")
    pairs = prepared.pairs
    text = loaded.training.get("text"), loaded.source.vocabulary, loaded.target.vocabulary
    if text != (pairs.text, pairs.source.vocabulary, pairs.target.vocabulary):
        raise UserError(
            f"{last} was trained on another text, or with other tokens: restore the training files, or start another "
            "run with --set name=NAME"
        )
    if loaded.training.get("validation") not in (None, prepared.validation.digest):
        raise UserError(
            f"{last} was validated on another text, whose scores cannot be compared: restore the validation files, or "
            "start another run with --set name=NAME"
        )
    return loaded.training


_SIGNED = ("exp_avg", "momentum_buffer")  # moments that may be negative; others are squares and counts

# What a resumed run must share with the first part, or its data order, weights or best score would make no sense.
_FIXED: Any = {
    "data": {"corpus", "source", "target", "joint_vocabulary", "max_length"},
    "model": True,
    "training": {
        "batch_size": True,
        "batch_unit": True,
        "seed": True,
        "optimizer": True,
        **{option: True for option in OPTIMIZERS.option_users() if option != "learning_rate"},
        "moving_average": True,
        "early_stopping": {"metric"},
        "start_from": True,
    },
    "search": {*SearchConfig.model_fields} - {"batch_size", "vocabulary_selection"},
}
_FILES: Any = {"train", "validation", "test", "extra"}  # what is read from them is compared instead
_PATHS: Any = {
    "data": {"source": _FILES, "target": _FILES, "augment": {"source_monolingual", "target_monolingual"}},
}
