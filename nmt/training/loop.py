"""The training loop:

    restore the last checkpoint, or start at update 0
    until max_updates, max_epochs, or `patience` validations without a better score:
        if a validation is due:
            translate the validation set; if its score is the best so far: save the model as best.safetensors
        if a checkpoint is due, or training was validated, ends or is stopped: save all of it as last.safetensors
        batches = the next `accumulate` batches of the epoch
        rate = the learning rate that the schedule sets for this update
        update the weights by the gradient of the batches' mean loss per target token
        every `log_every` updates: write loss, learning rate and speed to metrics.jsonl

All that resuming bit for bit needs is in a trainer's `train_state` and `counters`, and in the random generators.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

from nmt.data.batching import Batch, Batches, collate
from nmt.schedules.learning_rate import ScheduleStep
from nmt.system.device import report_out_of_memory
from nmt.system.errors import CONTROLS
from nmt.training.checkpointing import Trainer, refuse_infinite, save, write
from nmt.training.counters import total_updates
from nmt.training.folder import BEST
from nmt.training.loss import perplexity
from nmt.training.prepare import batches_of
from nmt.training.update import update
from nmt.training.validation import describe_batch, sample_translations, validate

FIRST = 10  # updates, after which the speed and the time left are printed for the first time


def train(trainer: Trainer) -> None:
    """Train until the config says so or a stop is requested, and leave checkpoints and metrics in the run's folder."""
    config, counters = trainer.config.training, trainer.counters
    batches = batches_of(trainer.pairs, config, counters.epoch, trainer.group)
    trainer.train_state.model.train()
    while not _validate_and_save(trainer):
        if (end := counters.why_end(config)) is not None:
            # After the checkpoint, so that a run resumed with a later end has no end in its middle.
            if counters.tokens or counters.skipped:
                _log_train_event(trainer, len(batches))
            trainer.log_event("end", reason=end, best=counters.best, seconds=counters.seconds)
            print(f"Done: {end}, in {counters.seconds / 60:.1f} minutes.", flush=True)
            return
        started = time.monotonic()
        _make_update(trainer, batches)
        if counters.batch >= len(batches):
            counters.epoch, counters.batch = counters.epoch + 1, 0
            batches = batches_of(trainer.pairs, config, counters.epoch, trainer.group)
        seconds = time.monotonic() - started
        counters.seconds, counters.update_seconds = counters.seconds + seconds, counters.update_seconds + seconds
        if counters.update % config.log_every == 0:
            _log_train_event(trainer, len(batches))
        elif counters.update == FIRST:
            print(_measured(trainer, len(batches)), flush=True)


def _make_update(trainer: Trainer, batches: Batches) -> None:
    """Make the epoch's next update, and record it."""
    counters, train_state, group, config = trainer.counters, trainer.train_state, trainer.group, trainer.config.training
    indices = range(counters.batch, min(counters.batch + config.accumulate, len(batches)))
    parts = [(group.shard(batches[i].tolist()), f"{config.seed} {counters.epoch} {i}") for i in indices]
    shards = [collate(trainer.pairs.examples(part, draw)) if part else None for part, draw in parts]
    lengths = [(shard.source_tokens, shard.target_tokens) for shard in shards if shard]
    source, target = group.total(sum(source for source, _ in lengths), sum(target for _, target in lengths))
    fraction = counters.fraction_completed(config, len(batches))
    step = ScheduleStep(counters.update + 1, counters.epoch + 1, counters.reductions, fraction)
    rate = config.schedule.component("kind").rate(config.learning_rate, step)
    with report_out_of_memory(lambda: out_of_memory(shards, counters.update + 1)):
        nll = update(train_state, shards, config, rate, counters.update, group)
    counters.record_update(nll, (int(source), int(target)), len(shards), rate)
    if math.isfinite(nll):
        if train_state.average is not None:
            train_state.average.update(counters.update)
    else:
        print(f"update {counters.update} skipped: its loss or gradient is not finite", flush=True)
        refuse_infinite(trainer)


def out_of_memory(batches: Sequence[Batch | None], number: int) -> str:
    """The message for batches that do not fit into memory."""
    largest = max(filter(None, batches), key=lambda batch: batch.source.numel() + batch.target_input.numel())
    return (
        f"update {number}: out of memory for a batch of {describe_batch(largest)}; lower training.batch_size (and "
        "raise training.accumulate by the same factor), or lower data.max_length"
    )


def _validate_and_save(trainer: Trainer) -> bool:
    """Validate and save if that is due; returns whether to stop now."""
    counters, config = trainer.counters, trainer.config.training
    due = counters.validation_is_due(config)
    if due and counters.validated == 0:
        save(trainer)  # so that there is never a best.safetensors without a last.safetensors to continue from
    if due:
        _validate(trainer)
    [stops] = trainer.group.total(trainer.stop.requested)
    if due or counters.why_end(config) is not None or stops or counters.checkpoint_is_due(config):
        save(trainer)
    return stops > 0


def _validate(trainer: Trainer) -> None:
    """Validate, record and report it, save the best model."""
    counters, config, pairs = trainer.counters, trainer.config, trainer.pairs
    refuse_infinite(trainer)
    started = time.monotonic()
    loss, bleu, hypotheses, chrf, attention, repetitive = validate(
        trainer.train_state.result, pairs.source, pairs.target, config, trainer.validation, trainer.group
    )
    refuse_infinite(trainer, loss)
    trainer.log.refuse_removed()  # before this validation is counted, whose best.safetensors would not be saved
    counters.record_validation(loss, bleu if chrf is None else chrf, config.training)
    counters.seconds += time.monotonic() - started
    best = counters.since_best == 0
    examples = sample_translations(trainer.validation, hypotheses)
    values = {"loss": loss, "perplexity": perplexity(loss), "bleu": bleu, "seconds": counters.seconds}
    values |= {f"attention_{name}": value for name, value in (attention or {}).items()}
    values |= {"repetitive": repetitive} | ({} if chrf is None else {"chrf": chrf})
    event = trainer.log_event("validation", **values, examples=examples)
    name = "BLEU (lower-cased)" if config.data.target.lowercase else "BLEU"
    print(_describe_validation(event, best=best, bleu_name=name), flush=True)
    if best and trainer.group.is_main:
        write(trainer, BEST, trainer.train_state.result)


def _describe_validation(event: Mapping[str, Any], *, best: bool, bleu_name: str) -> str:
    """The text for a `validation` event of `metrics.jsonl`."""
    score = f"chrF {event['chrf']:.2f} (BLEU is undefined)" if "chrf" in event else f"{bleu_name} {event['bleu']:.2f}"
    lines = [
        f"epoch {event['epoch']}, update {event['update']}, {event['seconds'] / 60:.1f} min: validation "
        f"loss {event['loss']:.3f}, perplexity {event['perplexity']:.2f}, {score}"
        f"{', the best so far' if best else ''}"
    ]
    for example in event["examples"]:
        texts = ((name, CONTROLS.sub("\ufffd", example[name])) for name in ("source", "reference", "hypothesis"))
        lines += [*(f"    {name:<12}{text}" for name, text in texts), ""]
    return "\n".join(lines)


def _log_train_event(trainer: Trainer, batches_per_epoch: int) -> None:
    """Write the `train` event of the updates since the last one."""
    counters = trainer.counters
    trainer.log_event(
        "train",
        loss=counters.mean_loss,
        perplexity=perplexity(counters.mean_loss),
        learning_rate=counters.rate,
        source_tokens_per_second=counters.speed[0],
        target_tokens_per_second=counters.speed[1],
        skipped=counters.skipped,
    )
    print(_measured(trainer, batches_per_epoch), flush=True)
    counters.reset_measures()


def _measured(trainer: Trainer, batches_per_epoch: int) -> str:
    """A line about the updates since the last `train` event, and the time left."""
    counters, config = trainer.counters, trainer.config.training
    left, total = counters.seconds_left(config, batches_per_epoch), total_updates(config, batches_per_epoch)
    loss, (source, target) = counters.mean_loss, counters.speed
    measured = f"loss {loss:.3f}, ppl {perplexity(loss):.4g}, {source:.0f} src/s, {target:.0f} tgt/s"
    left_text = f"{tqdm.format_interval(left)} left"
    return f"epoch {counters.epoch_number}, update {counters.update}/{total}: {measured}, {left_text}"
