"""Writes the checkpoints of training, and refuses weights that are not finite."""

from __future__ import annotations

from pathlib import Path

from nmt.checkpoint import contents as checkpoint
from nmt.selection.lexical import Selection
from nmt.system.errors import UserError
from nmt.training.folder import BEST, LAST, PREVIOUS, keep_checkpoint
from nmt.training.resume import training_part
from nmt.training.session import Session, Task


def save(session: Session) -> None:
    """Save all that resuming needs as `last.pt`; the checkpoint before it becomes `previous.pt`.

    Every process must call it. Raises `UserError` rather than save weights that are not finite.
    """
    refuse_infinite(session)
    task, learner = session.task, session.learner
    training = training_part(
        session.state, learner, task.pairs.text, task.validation.digest, session.log.size, task.world
    )
    if task.world.is_main:
        path = task.folder / LAST
        checkpoint.save(
            path,
            task.config,
            task.pairs.source,
            task.pairs.target,
            learner.model,
            training,
            selection_of(task),
            kept=task.folder / PREVIOUS,
        )
        if (count := task.config.training.keep_checkpoints) is not None:
            keep_checkpoint(task.folder, session.state.update, count)
        task.progress.checkpoint(path, session.state.update)


def save_best(session: Session) -> None:
    """Save the model as `best.pt`, for translation alone."""
    task = session.task
    model = session.learner.result
    checkpoint.save(
        task.folder / BEST, task.config, task.pairs.source, task.pairs.target, model, selection=selection_of(task)
    )


def selection_of(task: Task) -> Selection | None:
    """What search selects of the vocabulary, if it is to."""
    return task.pairs.selection if task.config.search.vocabulary_selection else None


def refuse_infinite(session: Session) -> None:
    """Raise `UserError` if a weight is not finite."""
    if not session.learner.is_finite:
        raise UserError(
            f"training.learning_rate is too high: update {session.state.update} made weights that are not finite; "
            f"lower it, and {advice(session.task.folder)}"
        )


def advice(folder: Path) -> str:
    """How to train again after weights were lost."""
    last = folder / LAST
    if last.exists():
        return f"start over, or resume from {last}, which is still good"
    return "start over (with training.checkpoint_every, a checkpoint before this would have been saved)"
