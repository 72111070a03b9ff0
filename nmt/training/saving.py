"""Writes the checkpoints of training, and refuses weights that are not finite."""

from __future__ import annotations

from pathlib import Path

from nmt.checkpoint import contents as checkpoint
from nmt.selection.lexical import Selection
from nmt.system.errors import UserError
from nmt.training.folder import BEST, LAST, PREVIOUS, keep_checkpoint
from nmt.training.resume import training_part
from nmt.training.trainer import Trainer


def save(trainer: Trainer) -> None:
    """Save all that resuming needs as `last.pt`; the checkpoint before it becomes `previous.pt`.

    Every process must call it. Raises `UserError` rather than save weights that are not finite.
    """
    refuse_infinite(trainer)
    train_state, counters = trainer.train_state, trainer.counters
    training = training_part(
        counters, train_state, trainer.pairs.text, trainer.validation.digest, trainer.log.size, trainer.group
    )
    if trainer.group.is_main:
        path = trainer.folder / LAST
        checkpoint.save(
            path,
            trainer.config,
            trainer.pairs.source,
            trainer.pairs.target,
            train_state.model,
            training,
            selection_of(trainer),
            kept=trainer.folder / PREVIOUS,
        )
        if (count := trainer.config.training.keep_checkpoints) is not None:
            keep_checkpoint(trainer.folder, counters.update, count)
        trainer.progress.checkpoint(path, counters.update)


def save_best(trainer: Trainer) -> None:
    """Save the model as `best.pt`, for translation alone."""
    model = trainer.train_state.result
    checkpoint.save(
        trainer.folder / BEST,
        trainer.config,
        trainer.pairs.source,
        trainer.pairs.target,
        model,
        selection=selection_of(trainer),
    )


def selection_of(trainer: Trainer) -> Selection | None:
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
