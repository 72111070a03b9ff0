"""Writes the checkpoints of training, and refuses weights that are not finite."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from nmt.checkpoint import contents as checkpoint
from nmt.data.shortlist import Shortlist
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError
from nmt.training.folder import BEST, LAST, PREVIOUS, keep_checkpoint
from nmt.training.resume import training_state
from nmt.training.trainer import Trainer


def save(trainer: Trainer) -> None:
    """Save all that resuming needs as `last.safetensors`; the checkpoint before it becomes `previous.safetensors`.

    Every process must call it. Raises `UserError` rather than save weights that are not finite, or into a folder that
    has become another run's.
    """
    trainer.log.refuse_removed()
    _save(trainer)


def save_before_exit(trainer: Trainer) -> str:
    """Save although the folder was removed, if that is possible; returns how to continue."""
    if trainer.group.size == 1:  # several processes would have to save together
        with suppress(UserError):
            _save(trainer)
            return f"the state of training is saved: continue with --resume, from update {trainer.counters.update}"
    return "start over, or continue from the last checkpoint with --resume"


def _save(trainer: Trainer) -> None:
    refuse_infinite(trainer)
    train_state, counters = trainer.train_state, trainer.counters
    training = training_state(
        counters, train_state, trainer.pairs.text, trainer.validation.digest, trainer.log.size, trainer.group
    )
    if trainer.group.is_main:
        _write(trainer, LAST, train_state.model, training, previous=trainer.folder / PREVIOUS)
        if (count := trainer.config.training.keep_checkpoints) is not None:
            keep_checkpoint(trainer.folder, counters.update, count)
        trainer.progress.checkpoint(trainer.folder / LAST, counters.update)


def save_best(trainer: Trainer) -> None:
    """Save the model as `best.safetensors`, for translation alone."""
    _write(trainer, BEST, trainer.train_state.result)


def _write(trainer: Trainer, name: str, model: Seq2Seq, training: Any = None, previous: Path | None = None) -> None:
    sides = trainer.pairs.source, trainer.pairs.target
    selection = selection_of(trainer)
    checkpoint.save(trainer.folder / name, trainer.config, *sides, model, training, selection, previous)


def selection_of(trainer: Trainer) -> Shortlist | None:
    """What search selects of the vocabulary, if it is to."""
    return trainer.pairs.selection if trainer.config.search.vocabulary_selection else None


def refuse_infinite(trainer: Trainer) -> None:
    """Raise `UserError` if a weight is not finite."""
    if not trainer.train_state.is_finite:
        raise UserError(
            f"training.learning_rate is too high: update {trainer.counters.update} made weights that are not finite; "
            f"lower it, and {advice(trainer.folder)}"
        )


def advice(folder: Path) -> str:
    """How to train again after weights were lost."""
    last = folder / LAST
    if last.exists():
        return f"start over, or resume from {last}, which is still good"
    return "start over (with training.checkpoint_every, a checkpoint before this would have been saved)"
