"""The training loop: updates, validations, checkpoints. What it needs to resume bit for bit is in its `State`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any

from nmt.checkpoint.file import DamagedFile
from nmt.data.batching import Batch, Batches, collate
from nmt.schedules.learning_rate import ScheduleStep
from nmt.system.device import report_out_of_memory
from nmt.system.errors import UserError
from nmt.training.event_log import EventLog, RemovedFile, ReplacedFile
from nmt.training.folder import LAST
from nmt.training.interruption import Interrupted, StopSignals
from nmt.training.learner import make_learner, make_sampler
from nmt.training.loss import perplexity
from nmt.training.pace import Pace, Tokens
from nmt.training.prepare import batches_of
from nmt.training.resume import restore, seed_processes
from nmt.training.saving import advice, refuse_infinite, save, save_best, selection_of
from nmt.training.session import Session, Task
from nmt.training.state import (
    State,
    checkpoint_is_due,
    share_done,
    total_updates,
    validation_is_due,
    validations_left,
    why_end,
)
from nmt.training.update import update
from nmt.training.validation import Validation, validate

SKIPPED_AT_MOST = 10  # updates in a row


def train(task: Task, stop: StopSignals, resume_from: dict[str, Any] | None = None) -> State:
    """Train until the config says so or a stop is asked for; `resume_from` is the `training` part of a checkpoint.

    Leaves `best.pt`, `last.pt` and `metrics.jsonl` in the run's folder, and returns where training stands.
    """
    config = task.config.training
    learner = make_learner(task.model, config, task.world, make_sampler(task.pairs, config, task.model.device))
    state, metrics_size = State(), 0
    if resume_from is None:
        seed_processes(config.seed, task.world)
    else:
        state, metrics_size = restore(learner, resume_from, str(task.folder / LAST), task.world)
    batches = batches_of(task.pairs, config, state.epoch, task.world)
    if state.batch >= len(batches):
        raise DamagedFile(f"{task.folder / LAST}: training.state.batch is {state.batch}, of {len(batches)} in an epoch")
    log = EventLog(task.folder if task.world.is_main else None, metrics_size, state.update)
    task.progress.begin(state.update, total_updates(config, len(batches)))
    try:
        session = Session(task, state, learner, log, Pace(), stop)
        _run(session, batches)
    except ReplacedFile as error:
        raise UserError(
            f"{error}: nothing more was saved there; continue with --resume if it is not, or start over with "
            "--set name=NAME"
        ) from None
    except RemovedFile as error:
        raise UserError(f"{error}; {_saved_once_more(session)}") from None
    finally:
        learner.close()
        task.progress.close()
        log.close()
    return state


def _saved_once_more(session: Session) -> str:
    """Save the state before a run ends early, if that is possible; returns how to go on."""
    if session.task.world.size == 1:  # several processes would have to save together
        with suppress(UserError):
            save(session)
            return f"the state of training is saved: continue with --resume, from update {session.state.update}"
    return "start over, or continue from the last checkpoint with --resume"


def _run(session: Session, batches: Batches) -> None:
    """Train from an epoch's batches on, until the end or a stop."""
    task, state = session.task, session.state
    config = task.config.training
    task.model.train()
    while True:
        stops = _validate_and_save(session)
        if stops:
            return
        end = why_end(state, config)
        if end is not None:
            # After the checkpoint, so that a run resumed with a later end has no end in its middle.
            if state.tokens or state.skipped:
                _log_train_event(session, len(batches))
            task.progress.end(
                session.log.write(
                    "end", state.update, state.epoch_number, reason=end, best=state.best, seconds=state.seconds
                )
            )
            return
        started = time.monotonic()
        tokens = _make_update(session, batches)
        if state.batch >= len(batches):
            state.record_epoch()
            batches = batches_of(task.pairs, config, state.epoch, task.world)
        seconds = time.monotonic() - started
        state.seconds += seconds
        session.pace.record_update(tokens, seconds)
        task.progress.update(
            state.epoch_number, state.mean_loss, session.pace.speed, _seconds_left(session, len(batches))
        )
        if state.update % config.log_every == 0:
            _log_train_event(session, len(batches))


def _save(session: Session) -> None:
    """Save the state, unless the folder has become another run's."""
    session.log.refuse_removed()
    save(session)


def _validate_and_save(session: Session) -> bool:
    """Validate and save what is due; returns whether to stop now."""
    task, state = session.task, session.state
    config = task.config.training
    started = time.monotonic()
    due = validation_is_due(state, config)
    if due and state.validated == 0:
        _save(session)  # so that there is never a best.pt without a last.pt to continue from
    validated = due and _validate(session)
    [stops] = task.world.total(session.stop.requested)
    if validated or why_end(state, config) is not None or stops or checkpoint_is_due(state, config):
        _save(session)
    if validated:
        session.pace.record_validation(time.monotonic() - started)
    return stops > 0


def _make_update(session: Session, batches: Batches) -> Tokens:
    """Make the epoch's next update, record it, and return its tokens, of all processes together."""
    task, state, learner = session.task, session.state, session.learner
    config = task.config.training
    numbers = range(state.batch, min(state.batch + config.accumulate, len(batches)))
    chosen = [_part(task, batches[number], f"{config.seed} {state.epoch} {number}") for number in numbers]
    tokens = Tokens(
        *task.world.total(
            sum(batch.source_tokens for batch in chosen if batch), sum(batch.target_tokens for batch in chosen if batch)
        )
    )
    step = ScheduleStep(state.update + 1, state.epoch + 1, state.reductions, share_done(state, config, len(batches)))
    rate = config.schedule.component("kind").rate(config.learning_rate, step)
    with report_out_of_memory(lambda: out_of_memory(chosen, state.update + 1)):
        nll = update(learner, chosen, config, rate, state.update, task.world)
    state.record_update(nll, int(tokens.target), len(chosen), rate)
    if math.isfinite(nll):
        if learner.average is not None:
            learner.average.update(state.update)
    else:
        task.progress.skipped(state.update)
        _refuse_hopeless(session, rate)
    return tokens


def _part(task: Task, numbers: Sequence[int], draw: str) -> Batch | None:
    """This process's part of a batch, if it has any."""
    own = task.world.share(numbers, task.pairs.lengths[1])
    return collate(task.pairs.examples(own, draw)) if own else None


def _refuse_hopeless(session: Session, rate: float) -> None:
    """Raise `UserError` if too many updates in a row were skipped, or the weights are lost."""
    state = session.state
    if state.skipped_in_row == SKIPPED_AT_MOST or not session.learner.is_finite:
        raise UserError(
            f"training.learning_rate ({rate:g}) is too high: up to update {state.update}, {state.skipped_in_row} in a "
            "row had a loss or gradient that is not finite; lower it, and "
            f"{advice(session.task.folder)}"
        )


def out_of_memory(batches: Sequence[Batch | None], number: int) -> str:
    """The message for batches that do not fit into memory."""
    largest = max(filter(None, batches), key=lambda batch: batch.source.numel() + batch.target_input.numel())
    sentences, source = largest.source.shape
    return (
        f"update {number}: out of memory for a batch of {sentences} sentences with up to {source} source and "
        f"{largest.target_input.shape[1]} target tokens; lower training.batch_size (and raise training.accumulate by "
        "the same factor), or lower data.max_length"
    )


def _seconds_left(session: Session, batches_per_epoch: int) -> float:
    state, config = session.state, session.task.config.training
    updates = total_updates(config, batches_per_epoch) - state.update
    return session.pace.seconds_left(max(0, updates), validations_left(state, config, batches_per_epoch))


def _log_train_event(session: Session, batches_per_epoch: int) -> None:
    """Write the `train` event of the updates since the last one."""
    state, speed = session.state, session.pace.speed
    event = session.log.write(
        "train",
        state.update,
        state.epoch_number,
        loss=state.mean_loss,
        perplexity=perplexity(state.mean_loss),
        learning_rate=state.rate,
        source_tokens_per_second=speed.source,
        target_tokens_per_second=speed.target,
        skipped=state.skipped,
    )
    session.task.progress.train(event, _seconds_left(session, batches_per_epoch))
    state.record_train_event()
    session.pace.record_train_event()


def _validate(session: Session) -> bool:
    """Validate, record and report it, keep the best model. False if a stop came first: resuming does it again."""
    task, state, learner = session.task, session.state, session.learner
    refuse_infinite(session)
    started = time.monotonic()
    try:
        # Several processes are in step, and none can leave alone.
        with session.stop.abandoning() if task.world.size == 1 else nullcontext():
            validation = validate(
                learner.result,
                task.pairs.source,
                task.pairs.target,
                task.config,
                task.validation,
                task.world,
                selection_of(task),
            )
    except Interrupted:
        return False
    session.log.refuse_removed()  # before the state counts this validation, whose best.pt would not be saved
    state.record_validation(validation.loss, validation.bleu, task.config.training)
    state.seconds += time.monotonic() - started
    event = session.log.write(
        "validation",
        state.update,
        state.epoch_number,
        loss=validation.loss,
        perplexity=perplexity(validation.loss),
        bleu=validation.bleu,
        seconds=state.seconds,
        examples=_examples(task, validation),
    )
    best = state.since_best == 0
    bleu = f"BLEU{' (lower-cased)' if task.config.data.target.lowercase else ''}"
    task.progress.validation(event, best=best, bleu=bleu)
    if best and task.world.is_main:
        save_best(session)
    return True


def _examples(task: Task, validation: Validation) -> list[dict[str, str]]:
    """Three sentences from the whole of the validation set, their references, and what the model made of them."""
    count = len(validation.hypotheses)
    numbers = sorted({count // 6, count // 2, count - 1 - count // 6})
    texts = task.validation
    return [
        {"source": texts.source[i], "reference": texts.target[i], "hypothesis": validation.hypotheses[i]}
        for i in numbers
    ]
