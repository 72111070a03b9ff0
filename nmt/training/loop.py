"""The training loop: updates, validations, checkpoints. What it needs to resume bit for bit is in its `State`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint.file import DamagedFile
from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch, Batches, collate
from nmt.data.training_set import TrainingSet
from nmt.kernels.loss import perplexity
from nmt.model.seq2seq import Seq2Seq
from nmt.schedules.learning_rate import Now
from nmt.system.device import explaining_memory
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.training.distributed import Ranks
from nmt.training.event_log import MetricsLog
from nmt.training.interruption import Interrupted, StopSignals
from nmt.training.learner import Learner, make_learner
from nmt.training.prepare import batches_of
from nmt.training.progress import Progress, Tokens
from nmt.training.saved import own_random_numbers, restore, saved
from nmt.training.state import (
    State,
    checkpoint_is_due,
    epoch_of,
    share_done,
    total_updates,
    validation_is_due,
    why_end,
)
from nmt.training.update import update
from nmt.training.validation import Validation, validate

LAST, PREVIOUS = "last.pt", "previous.pt"  # the checkpoints to go on from
SKIPPED_AT_MOST = 10  # updates in a row


class Task(NamedTuple):
    """What is trained, on what, and where it is kept."""

    config: Config
    pairs: TrainingSet
    validation: ParallelText
    model: Seq2Seq
    folder: Path
    ranks: Ranks


def train(task: Task, stop: StopSignals, resume_from: dict[str, Any] | None = None) -> State:
    """Train until the config says so or a stop is asked for; `resume_from` is the `training` part of a checkpoint.

    Leaves `best.pt`, `last.pt` and `metrics.jsonl` in the run's folder, and returns where training stands.
    """
    config = task.config.training
    learner = make_learner(task.model, config, task.ranks)
    state, metrics_size = State(), 0
    if resume_from is None:
        own_random_numbers(config.seed, task.ranks)
    else:
        state, metrics_size = restore(learner, resume_from, str(task.folder / LAST), task.ranks)
    batches = batches_of(task.pairs, config, state.epoch, task.ranks)
    if state.batch >= len(batches):
        raise DamagedFile(f"{task.folder / LAST}: training.state.batch is {state.batch}, of {len(batches)} in an epoch")
    log = MetricsLog(task.folder if task.ranks.leads else None, metrics_size, state.update)
    progress = Progress(state.update, total_updates(config, len(batches)), quiet=not task.ranks.leads)
    try:
        _run(task, state, learner, batches, log, progress, stop)
    finally:
        progress.close()
        log.close()
    return state


def _run(
    task: Task,
    state: State,
    learner: Learner,
    batches: Batches,
    log: MetricsLog,
    progress: Progress,
    stop: StopSignals,
) -> None:
    config = task.config.training
    task.model.train()
    while True:
        due = validation_is_due(state, config)
        if due and state.validated == 0:
            _save(task, state, learner, log)  # so that there is never a best.pt without a last.pt to go on from
        validated = due and _validate(task, state, learner, log, progress, stop)
        end = why_end(state, config)
        [stops] = task.ranks.total(stop.requested)
        if validated or end is not None or stops or checkpoint_is_due(state, config):
            _save(task, state, learner, log)
        if stops:
            return
        if end is not None:
            # Behind the checkpoint, so that a run resumed with a later end has no end in its middle.
            if state.tokens or state.skipped:
                _log_lap(state, learner.optimizer, log, progress)
            log.write("end", state.update, epoch_of(state), reason=end, best=state.best, seconds=state.seconds)
            progress.write(f"Done: {end}, in {state.seconds / 60:.1f} minutes.")
            return

        started = time.monotonic()
        tokens = _update(task, state, learner, batches, progress)
        if state.batch >= len(batches):
            state.epoch, state.batch = state.epoch + 1, 0
            batches = batches_of(task.pairs, config, state.epoch, task.ranks)
        seconds = time.monotonic() - started
        state.seconds += seconds
        progress.advance(epoch_of(state), tokens, seconds, _mean_loss(state))
        if state.update % config.log_every == 0:
            _log_lap(state, learner.optimizer, log, progress)


def _update(task: Task, state: State, learner: Learner, batches: Batches, progress: Progress) -> Tokens:
    """Make the epoch's next update, count it, return its tokens, of all processes together."""
    config = task.config.training
    numbers = range(state.batch, min(state.batch + config.accumulate, len(batches)))
    chosen = [_part(task, batches[number], f"{config.seed} {state.epoch} {number}") for number in numbers]
    tokens = Tokens(
        *task.ranks.total(
            sum(batch.source_tokens for batch in chosen if batch), sum(batch.target_tokens for batch in chosen if batch)
        )
    )
    now = Now(state.update + 1, state.epoch + 1, state.reductions, share_done(state, config, len(batches)))
    rate = config.schedule.chosen("kind").rate(config.learning_rate, now)
    with explaining_memory(lambda: too_large(chosen, state.update + 1)):
        nll = update(learner, chosen, config, rate, state.update, task.ranks)
    state.update += 1
    state.batch += len(chosen)
    if not math.isfinite(nll):
        _skip(task, state, learner, rate, progress)
        return tokens
    state.skipped_in_row = 0
    state.nll += nll
    state.tokens += int(tokens.target)
    if learner.average is not None:
        learner.average.update(state.update)
    return tokens


def _part(task: Task, numbers: Sequence[int], draw: str) -> Batch | None:
    """This process's part of a batch, if it has any."""
    own = task.ranks.share(numbers, task.pairs.lengths[1])
    return collate(task.pairs.examples(own, draw)) if own else None


def _skip(task: Task, state: State, learner: Learner, rate: float, progress: Progress) -> None:
    """Count an update that changed nothing. Raises `UserError` if there is no use in going on."""
    state.skipped += 1
    state.skipped_in_row += 1
    progress.write(f"update {state.update} skipped: its loss or gradient is not finite")
    if state.skipped_in_row == SKIPPED_AT_MOST or not learner.is_finite:
        raise UserError(
            f"training.learning_rate ({rate:g}) is too high: up to update {state.update}, {state.skipped_in_row} in a "
            f"row had a loss or gradient that is not finite; lower it, and begin anew or {_from_last(task)}"
        )


def _require_finite(task: Task, state: State, learner: Learner) -> None:
    """Raise `UserError` rather than keep weights that are of no use."""
    if not learner.is_finite:
        raise UserError(
            f"training.learning_rate is too high: update {state.update} made weights that are not finite; lower it, "
            f"and begin anew or {_from_last(task)}"
        )


def _from_last(task: Task) -> str:
    last = task.folder / LAST
    return f"resume from {last}, which is good" if last.exists() else "set training.checkpoint_every to have one saved"


def too_large(batches: Sequence[Batch | None], number: int) -> str:
    """What to say of batches that the memory has no room for."""
    largest = max(filter(None, batches), key=lambda batch: batch.source.numel() + batch.target_input.numel())
    sentences, source = largest.source.shape
    return (
        f"update {number}: the memory has no room for a batch of {sentences} sentences with up to {source} source and "
        f"{largest.target_input.shape[1]} target tokens; lower training.batch_size (and raise training.accumulate by "
        "as much), or data.max_length"
    )


def _log_lap(state: State, optimizer: torch.optim.Optimizer, log: MetricsLog, progress: Progress) -> None:
    """Write the `train` event of the updates since the last one."""
    loss = _mean_loss(state)
    speed = progress.lap()
    log.write(
        "train",
        state.update,
        epoch_of(state),
        loss=loss,
        perplexity=perplexity(loss),
        learning_rate=optimizer.param_groups[0]["lr"],
        source_tokens_per_second=speed.source,
        target_tokens_per_second=speed.target,
        skipped=state.skipped,
    )
    progress.log(epoch_of(state), loss, speed)
    state.nll, state.tokens, state.skipped = 0.0, 0, 0


def _mean_loss(state: State) -> float:
    """Of the updates since the last `train` event, in nats per token; not a number if all were skipped."""
    return state.nll / state.tokens if state.tokens else math.nan


def _validate(
    task: Task, state: State, learner: Learner, log: MetricsLog, progress: Progress, stop: StopSignals
) -> bool:
    """Validate, record and report it, keep the best model. False if a stop came first: resuming does it again."""
    _require_finite(task, state, learner)
    started = time.monotonic()
    try:
        # Several processes are in step, and none can leave alone.
        with stop.abandoning() if task.ranks.count == 1 else nullcontext():
            validation = validate(
                learner.result, task.pairs.source, task.pairs.target, task.config, task.validation, task.ranks
            )
    except Interrupted:
        return False
    best = _is_best(state, task.config.training, validation)
    state.seconds += time.monotonic() - started
    log.write(
        "validation",
        state.update,
        epoch_of(state),
        loss=validation.loss,
        perplexity=perplexity(validation.loss),
        bleu=validation.bleu,
        seconds=state.seconds,
    )
    _report(task, state, validation, best, progress)
    if best and task.ranks.leads:
        checkpoint.save(task.folder / "best.pt", task.config, task.pairs.source, task.pairs.target, learner.result)
    return True


def _report(task: Task, state: State, validation: Validation, best: bool, progress: Progress) -> None:
    progress.write(
        f"epoch {epoch_of(state)}, update {state.update}, {state.seconds / 60:.1f} min: validation "
        f"loss {validation.loss:.3f}, perplexity {perplexity(validation.loss):.2f}, "
        f"BLEU{' (lower-cased)' if task.config.data.target.lowercase else ''} {validation.bleu:.2f}"
        f"{', the best so far' if best else ''}"
    )
    count = len(validation.hypotheses)
    for i in sorted({count // 6, count // 2, count - 1 - count // 6}):
        progress.write(f"    source      {task.validation.source[i]}")
        progress.write(f"    reference   {task.validation.target[i]}")
        progress.write(f"    hypothesis  {validation.hypotheses[i]}\n")


def _is_best(state: State, config: TrainingConfig, validation: Validation) -> bool:
    """Count the validation in; True if no earlier one was as good."""
    state.validated = state.update
    by_bleu = config.early_stopping.metric == "bleu"
    bleu, best_bleu = (validation.bleu, state.best) if by_bleu else (0.0, 0.0)
    if state.best is None or (bleu, -validation.loss) > (best_bleu, -state.best_loss):
        state.best, state.best_loss = bleu if by_bleu else validation.loss, validation.loss
        state.since_best = state.since_reduction = 0
        return True
    state.since_best += 1
    if config.schedule.kind == "plateau":
        state.since_reduction += 1
        if state.since_reduction >= config.schedule.patience:
            state.reductions, state.since_reduction = state.reductions + 1, 0
    return False


def _save(task: Task, state: State, learner: Learner, log: MetricsLog) -> None:
    _require_finite(task, state, learner)
    training = saved(state, learner, task.pairs.text, log.size, task.ranks)
    if task.ranks.leads:
        checkpoint.save(
            task.folder / LAST,
            task.config,
            task.pairs.source,
            task.pairs.target,
            learner.model,
            training,
            kept=task.folder / PREVIOUS,
        )
