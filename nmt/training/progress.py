"""What a run reports while it trains: text and a progress bar for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm
from tqdm.std import EMA  # type: ignore[attr-defined]

from nmt.training.event_log import json_values
from nmt.training.loss import perplexity

HALF_LIFE = 20  # updates after which a duration counts half as much in the recent speed


class Tokens(NamedTuple):
    """Numbers of tokens, or tokens per second; padding is not counted."""

    source: float
    target: float


class ThroughputMeter:
    """Tokens per second since the last `train` event, and the time left at the recent speed.

    The recent duration of an update is an exponentially weighted mean. Validations are counted separately, each as long
    as the last.
    """

    def __init__(self) -> None:
        self.validation_seconds = 0.0  # of the last validation, with its checkpoints
        self._mean_seconds = EMA(1 - 0.5 ** (1 / HALF_LIFE))  # of an update
        self.reset_speed()

    def reset_speed(self) -> None:
        """Start to measure the speed for the next `train` event."""
        self._source = self._target = self._seconds = 0.0

    def record_update(self, tokens: Tokens, seconds: float) -> None:
        """Count an update's tokens and its duration."""
        self._source += tokens.source
        self._target += tokens.target
        self._seconds += seconds
        self._mean_seconds(seconds)

    @property
    def speed(self) -> Tokens:
        """Tokens per second since the last `train` event; nan before the first update."""
        seconds = self._seconds or math.nan
        return Tokens(self._source / seconds, self._target / seconds)

    def seconds_left(self, updates: int, validations: int) -> float:
        """How long so many updates and validations take at the recent speed; nan before the first update."""
        return updates * (self._mean_seconds() or math.nan) + validations * self.validation_seconds


class Progress:
    """Reports nothing, for processes other than the first. The subclasses report to people or to programs."""

    def report(self, event: str, values: Mapping[str, Any], text: str | None = None) -> None:
        """Report an event: its values to programs; its text, if there is one, to people."""

    def begin(self, updates: int, total: int) -> None:
        """Training starts or continues, after so many of all updates."""

    def update(self, epoch: int, measured: str) -> None:
        """An update was made, whose measurements are those of `describe_speed`."""

    def close(self) -> None:
        """Training has ended, in whatever way."""

    def evaluation(self, table: str, scores: Mapping[str, Any], commands: Sequence[str]) -> None:
        """Report the finished run's scores, as a table and as in `evaluation.json`, and commands to type next."""
        self.report("evaluation", scores, "\n  ".join([f"\n{table}\n\nNext:", *commands]))

    def stopped(self, checkpoint: Path | None, command: str) -> None:
        """Report that a signal has stopped the run. `command` continues from the checkpoint, if one was saved."""
        saved = f"Saved {checkpoint}. To continue: {command}"
        text = "Stopped before training began: nothing was changed." if checkpoint is None else saved
        self.report("stopped", {"checkpoint": checkpoint and str(checkpoint), "command": command}, text)


class TextProgress(Progress):
    """Text on standard output, and on a terminal a bar, on standard error."""

    _bar: tqdm[Any] | None = None  # on a terminal, during training

    def report(self, event: str, values: Mapping[str, Any], text: str | None = None) -> None:
        if text is not None and (event != "train" or self._bar is None):  # the bar shows the same
            with tqdm.external_write_mode():
                print(text, flush=True)

    def begin(self, updates: int, total: int) -> None:
        columns = shutil.get_terminal_size((100, 24)).columns  # a recorded terminal has none: then 100
        layout = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
        bar = tqdm(initial=updates, total=total, disable=None, ncols=columns, bar_format=layout, desc="training")
        self._bar = None if bar.disable else bar

    def update(self, epoch: int, measured: str) -> None:
        if self._bar is not None:
            self._bar.set_description(f"epoch {epoch}", refresh=False)
            self._bar.set_postfix_str(measured, refresh=False)
            self._bar.update()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class JsonProgress(Progress):
    """On standard output one JSON object a line, with the fields of `metrics.jsonl` and more; no bar."""

    def report(self, event: str, values: Mapping[str, Any], text: str | None = None) -> None:
        print(json.dumps({"event": event} | json_values(values), ensure_ascii=False), flush=True)


def describe_validation(event: Mapping[str, Any], *, best: bool, bleu_name: str) -> str:
    """The text for a `validation` event of `metrics.jsonl`."""
    lines = [
        f"epoch {event['epoch']}, update {event['update']}, {event['seconds'] / 60:.1f} min: validation "
        f"loss {event['loss']:.3f}, perplexity {event['perplexity']:.2f}, {bleu_name} {event['bleu']:.2f}"
        f"{', the best so far' if best else ''}"
    ]
    for example in event["examples"]:
        lines += [f"    {name:<12}{example[name]}" for name in ("source", "reference", "hypothesis")] + [""]
    return "\n".join(lines)


def describe_speed(loss: float, speed: Tokens, seconds_left: float) -> str:
    """The loss, in nats per target token, the speed, in tokens per second, and the time left."""
    losses = f"loss {loss:.3f}, ppl {perplexity(loss):.4g}"
    if not math.isfinite(speed.target):  # no update since the run was resumed
        return losses
    return f"{losses}, {speed.source:.0f} src/s, {speed.target:.0f} tgt/s, {_duration(seconds_left)} left"


def _duration(seconds: float) -> str:
    """A duration in a suitable unit: "48 s", "14.7 min", "3.2 h"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
