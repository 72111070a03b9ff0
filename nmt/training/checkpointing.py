"""Checkpoints of training: what they hold so that a resumed run ends with the same bits, and which run may use them."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint.contents import Loaded
from nmt.checkpoint.file import DamagedFile
from nmt.checkpoint.weights import LARGEST, check_weights
from nmt.components import OPTIMIZERS
from nmt.config.reading import differences, explain
from nmt.config.run import Config
from nmt.config.search import SearchConfig
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError
from nmt.system.files import report_write_errors
from nmt.text.corpus import ParallelText
from nmt.training.counters import Counters, Number
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.event_log import EventLog
from nmt.training.folder import BEST, CONFIG, LAST, PREVIOUS, load_last_intact
from nmt.training.interruption import StopSignals
from nmt.training.loss import perplexity
from nmt.training.prepare import Prepared, batches_of
from nmt.training.update import TrainState

MAX_SKIPPED = 10  # updates in a row; before the tenth: half of all

# What a resumed run must share with the first part, or its data order, weights or best score would make no sense.
_FIXED: Any = {
    "data": {"corpus", "source", "target", "joint_vocabulary", "normalize", "max_length"},
    "model": True,
    "training": {
        **dict.fromkeys(("batch_size", "batch_unit", "seed", "optimizer", "moving_average", "start_from"), True),
        **{option: True for option in OPTIMIZERS.option_users() if option != "learning_rate"},
        "early_stopping": {"metric"},
    },
    "search": {*SearchConfig.model_fields} - {"batch_size", "split"},
}
_FILES: Any = {"train", "validation", "test", "extra"}  # what is read from them is compared instead
_AUGMENT = {"source_monolingual", "target_monolingual"}
_PATHS: Any = {"data": {"source": _FILES, "target": _FILES, "augment": _AUGMENT}}


class Trainer(NamedTuple):
    """A run's settings, text and folder, and the values that change from update to update."""

    config: Config
    pairs: TrainingSet
    validation: ParallelText
    folder: Path
    group: ProcessGroup
    stop: StopSignals
    train_state: TrainState
    counters: Counters
    log: EventLog

    def log_event(self, event: str, **values: Any) -> dict[str, Any]:
        """Add an event of this moment to `metrics.jsonl`, and return it."""
        return self.log.write(event, self.counters.update, self.counters.epoch_number, **values)


class TrainingState(BaseModel):
    """The `training` section of a checkpoint: what resuming needs beside config, vocabularies and weights."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    state: Counters
    optimizer: dict[str, Tensor]  # by a parameter's number, in the model's order, and the moment's name: `3.exp_avg`
    average: dict[str, Tensor] | None
    text: str  # a digest of all training text
    validation: str | None  # a digest of the validation text; nmt 0.1 kept none
    random: Tensor  # the state of each process's generator, a row each
    random_cuda: Tensor | None
    metrics_size: Number  # of `metrics.jsonl`, in bytes


def save(trainer: Trainer) -> None:
    """Save all that resuming needs as `last.safetensors`; the checkpoint before it becomes `previous.safetensors`.

    Every process must call it. Raises `UserError` rather than save infinite weights, or into another run's folder.
    """
    trainer.log.refuse_removed()
    refuse_infinite(trainer)
    training = _training_state(trainer)
    if trainer.group.is_main:
        write(trainer, LAST, trainer.train_state.model, training, previous=trainer.folder / PREVIOUS)


def write(trainer: Trainer, name: str, model: Seq2Seq, training: Any = None, previous: Path | None = None) -> None:
    """Write a checkpoint into the run's folder; without `training` for translation alone."""
    sides = trainer.pairs.source, trainer.pairs.target
    checkpoint.save(trainer.folder / name, trainer.config, *sides, model, training, previous)


def refuse_infinite(trainer: Trainer, loss: float = 0.0) -> None:
    """Raise `UserError` if too many updates in a row were skipped, or a weight or a validation's loss is too large."""
    counters, last = trainer.counters, trainer.folder / LAST
    most = MAX_SKIPPED if counters.update >= MAX_SKIPPED else max(3, counters.update // 2 + 1)
    if counters.skipped_in_row >= most:
        reason = f"{counters.skipped_in_row} updates in a row were skipped"
    elif not all(bool((weight.abs() <= LARGEST).all()) for weight in trainer.train_state.model.parameters()):
        reason = "weights are not finite, or too large"
    elif not math.isfinite(perplexity(loss)):
        reason = f"the validation loss is {loss:g}"
    else:
        return
    advice = "start over (with training.checkpoint_every, a checkpoint before this would have been saved)"
    if last.exists() and (counters.validated or not loss):  # before the first validation these weights were saved
        advice = f"start over, or resume from {last}, which is still good"
    decay = trainer.config.training.component("optimizer").weight_decay
    by_decay = decay > 1 and decay * counters.rate > 1  # in each step a weight loses more than it is
    field = f"weight_decay ({decay:g})" if by_decay else f"learning_rate ({counters.rate:g})"
    raise UserError(f"training.{field} is too high: at update {counters.update}, {reason}; lower it, and {advice}")


def _training_state(trainer: Trainer) -> dict[str, Any]:
    """The fields of `TrainingState`, as plain values and tensors. Every process must call it."""
    train_state, group = trainer.train_state, trainer.group
    moments = train_state.optimizer.state_dict()["state"]
    on_gpu = train_state.model.device.type == "cuda"
    return {
        "state": asdict(trainer.counters),
        "optimizer": {f"{number}.{kind}": x for number, of_one in moments.items() for kind, x in of_one.items()},
        "average": None if train_state.average is None else dict(train_state.average.model.state_dict()),
        "text": trainer.pairs.text,
        "validation": trainer.validation.digest,
        "random": torch.stack(group.gather(torch.get_rng_state())),
        "random_cuda": torch.stack(group.gather(torch.cuda.get_rng_state())) if on_gpu else None,
        "metrics_size": trainer.log.size,
    }


def restore(train_state: TrainState, saved: TrainingState, path: Path, group: ProcessGroup) -> None:
    """Restore optimizer, moving average and random generators. Raises `DamagedFile` if they do not fit the model."""
    numbers = {name.partition(".")[0] for name in saved.optimizer}
    needed = {  # of a parameter that waits for its first gradient nothing
        f"{number}.{kind}": torch.empty(() if kind == "step" else weight.shape, device="meta")
        for number, weight in enumerate(train_state.model.parameters())
        for kind in train_state.moments
        if str(number) in numbers
    }
    check_weights(f"{path}: optimizer", needed, saved.optimizer)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, moment in saved.optimizer.items():
        number, _, kind = name.partition(".")
        moments.setdefault(int(number), {})[kind] = moment
    groups = train_state.optimizer.state_dict()["param_groups"]
    train_state.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    average = None if train_state.average is None else train_state.average.model
    check_weights(f"{path}: average", {} if average is None else average.state_dict(), saved.average or {})
    if average is not None and saved.average is not None:
        average.load_state_dict(saved.average)
    try:
        torch.set_rng_state(saved.random[group.rank].clone())
        if saved.random_cuda is not None and train_state.model.device.type == "cuda":
            torch.cuda.set_rng_state(saved.random_cuda[group.rank].clone())
    except (IndexError, RuntimeError, TypeError) as error:
        raise DamagedFile(f"{path}: its state of the random generator cannot be used ({error})") from None


def load_last(
    config: Config, prepared: Prepared, folder: Path, group: ProcessGroup = SINGLE_PROCESS, *, repair: bool
) -> tuple[Loaded, TrainingState] | None:
    """The last checkpoint that is not damaged, or None before the first. `repair` moves a damaged one out of the way.

    Raises `UserError` if training cannot continue from it with this config, text and number of processes.
    """
    last, previous = folder / LAST, folder / PREVIOUS
    if not group.is_main:
        group.wait()
    loaded, damaged = load_last_intact(folder, prepared.device)
    if damaged is not None:
        print(f"{damaged}. Continuing from the checkpoint before it, {previous}", file=sys.stderr)
    if damaged is not None and repair:
        with report_write_errors(kept := folder / "damaged.safetensors"):
            if last.exists():
                last.replace(kept)
            previous.replace(last)
    elif loaded is None:
        print(f"{last} does not exist yet: starting from the beginning", file=sys.stderr)
    if group.is_main:
        group.wait()
    if len(set(group.gather(repr(loaded and (loaded.training or {}).get("state"))))) > 1:
        raise UserError(f"{last} is not the same on all machines: they must share the folder {config.output_dir}")
    return None if loaded is None else (loaded, _state_to_continue(config, prepared, loaded, last, group))


def _state_to_continue(
    config: Config, prepared: Prepared, loaded: Loaded, last: Path, group: ProcessGroup
) -> TrainingState:
    """The training state of what was loaded from `last`. Raises as `load_last` does."""
    if loaded.training is None:
        raise UserError(f"{last} is for translation only, like {BEST}: training cannot continue from it")
    before, now = (one.model_dump(include=_FIXED, exclude=_PATHS) for one in (loaded.config, config))
    for field in differences(before, now):
        raise UserError(f"{last} was trained with another {field}: resume with the one in {last.with_name(CONFIG)}")
    try:
        saved = TrainingState.model_validate(loaded.training)
    except ValidationError as error:
        raise DamagedFile(f"{last} cannot be resumed from: {explain(error)}") from None
    pairs = prepared.pairs
    text = saved.text, loaded.source.vocabulary, loaded.target.vocabulary
    is_same = {
        "trained": text == (pairs.text, pairs.source.vocabulary, pairs.target.vocabulary),
        "validated": saved.validation in (None, prepared.validation.digest),
    }
    if other := [what for what, same in is_same.items() if not same]:
        advice = "restore the files, or start another run with --set name=NAME"
        raise UserError(f"{last} was {other[0]} on another text, or with other tokens: {advice}")
    processes = len(saved.random) if saved.random.dim() else 0
    if processes != group.size:
        raise UserError(f"{last} was trained by {processes} process(es): resume with as many, not {group.size}")
    batches = len(batches_of(pairs, config.training, saved.state.epoch, group))
    if saved.state.batch >= batches:
        raise DamagedFile(f"{last}: training.state.batch is {saved.state.batch}, of {batches} in an epoch")
    return saved
