"""What a run says while it trains: text and a bar for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmt.training.event_log import finite
from nmt.training.loss import perplexity
from nmt.training.pace import Tokens
from nmt.training.summary import Summary


class Progress:
    """Reports nothing, for processes other than the first. The subclasses report to people or to programs."""

    def summary(self, summary: Summary) -> None:
        """What is about to be trained, on what."""

    def begin(self, done: int, total: int) -> None:
        """Training starts or continues, after `done` of `total` updates."""

    def update(self, epoch: int, loss: float, speed: Tokens, seconds_left: float) -> None:
        """An update is done. `loss` is in nats per target token, `speed` in tokens per second."""

    def skipped(self, update: int) -> None:
        """An update was skipped: its loss or gradient was not finite."""

    def train(self, event: Mapping[str, Any], seconds_left: float) -> None:
        """A `train` event of `metrics.jsonl`."""

    def validation(self, event: Mapping[str, Any], *, best: bool, bleu: str) -> None:
        """A `validation` event of `metrics.jsonl`; `bleu` is what its score is called."""

    def checkpoint(self, path: Path, update: int) -> None:
        """A checkpoint was saved, from which training can continue."""

    def end(self, event: Mapping[str, Any]) -> None:
        """The `end` event of `metrics.jsonl`."""

    def evaluation(self, table: str, scores: Mapping[str, Any], commands: Sequence[str]) -> None:
        """The finished run's scores, as a table and as in `evaluation.json`, and commands to type next."""

    def stopped(self, checkpoint: Path | None, command: str) -> None:
        """A signal has stopped the run. `command` continues from the checkpoint, if one was saved."""

    def message(self, line: str) -> None:
        """Any other message."""

    def close(self) -> None:
        """Training has ended, in whatever way."""


class TextProgress(Progress):
    """Text on standard output, and on a terminal a bar, on standard error."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._total = 0

    def summary(self, summary: Summary) -> None:
        print(summary, flush=True)

    def begin(self, done: int, total: int) -> None:
        # A recorded terminal may say that it has no columns: then 100.
        columns = shutil.get_terminal_size((100, 24)).columns
        layout = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
        self._bar = tqdm(
            initial=done, total=total, unit="update", disable=None, ncols=columns, bar_format=layout, desc="training"
        )
        self._total = total

    @property
    def _has_bar(self) -> bool:
        return self._bar is not None and not self._bar.disable

    def update(self, epoch: int, loss: float, speed: Tokens, seconds_left: float) -> None:
        if self._bar is not None and self._has_bar:
            self._bar.set_description(f"epoch {epoch}", refresh=False)
            self._bar.set_postfix_str(_numbers(loss, speed, seconds_left), refresh=False)
            self._bar.update()

    def skipped(self, update: int) -> None:
        self.message(f"update {update} skipped: its loss or gradient is not finite")

    def train(self, event: Mapping[str, Any], seconds_left: float) -> None:
        if not self._has_bar:
            speed = Tokens(event["source_tokens_per_second"], event["target_tokens_per_second"])
            numbers = _numbers(event["loss"], speed, seconds_left)
            self.message(f"epoch {event['epoch']}, update {event['update']}/{self._total}: {numbers}")

    def validation(self, event: Mapping[str, Any], *, best: bool, bleu: str) -> None:
        self.message(
            f"epoch {event['epoch']}, update {event['update']}, {event['seconds'] / 60:.1f} min: validation "
            f"loss {event['loss']:.3f}, perplexity {event['perplexity']:.2f}, {bleu} {event['bleu']:.2f}"
            f"{', the best so far' if best else ''}"
        )
        for example in event["examples"]:
            self.message(f"    source      {example['source']}")
            self.message(f"    reference   {example['reference']}")
            self.message(f"    hypothesis  {example['hypothesis']}\n")

    def end(self, event: Mapping[str, Any]) -> None:
        self.message(f"Done: {event['reason']}, in {event['seconds'] / 60:.1f} minutes.")

    def evaluation(self, table: str, scores: Mapping[str, Any], commands: Sequence[str]) -> None:
        print(f"\n{table}\n\nNext:")
        for command in commands:
            print(f"  {command}")

    def stopped(self, checkpoint: Path | None, command: str) -> None:
        if checkpoint is None:
            print("Stopped before training began: nothing was changed.")
        else:
            print(f"Saved {checkpoint}. To continue: {command}")

    def message(self, line: str) -> None:
        with tqdm.external_write_mode():
            print(line, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class JsonProgress(Progress):
    """On standard output one JSON object a line, with the fields of `metrics.jsonl` and more; no bar."""

    def summary(self, summary: Summary) -> None:
        _say("start", summary._asdict())

    def skipped(self, update: int) -> None:
        _say("skipped", {"update": update})

    def train(self, event: Mapping[str, Any], seconds_left: float) -> None:
        _say("train", {**event, "seconds_left": seconds_left})

    def validation(self, event: Mapping[str, Any], *, best: bool, bleu: str) -> None:
        _say("validation", {**event, "best": best})

    def checkpoint(self, path: Path, update: int) -> None:
        _say("checkpoint", {"update": update, "path": str(path)})

    def end(self, event: Mapping[str, Any]) -> None:
        _say("end", event)

    def evaluation(self, table: str, scores: Mapping[str, Any], commands: Sequence[str]) -> None:
        _say("evaluation", scores)

    def stopped(self, checkpoint: Path | None, command: str) -> None:
        _say("stopped", {"checkpoint": checkpoint and str(checkpoint), "command": command})

    def message(self, line: str) -> None:
        _say("message", {"text": line})


def _say(event: str, values: Mapping[str, Any]) -> None:
    print(json.dumps({"event": event} | finite(values), ensure_ascii=False), flush=True)


def _numbers(loss: float, speed: Tokens, seconds_left: float) -> str:
    losses = f"loss {loss:.3f}, ppl {perplexity(loss):.4g}"
    if not math.isfinite(speed.target):  # no update since the run was resumed
        return losses
    return f"{losses}, {speed.source:.0f} src/s, {speed.target:.0f} tgt/s, {_duration(seconds_left)} left"


def _duration(seconds: float) -> str:
    """A duration in a suitable unit: "48 s", "14.7 min", "3.2 h"."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
