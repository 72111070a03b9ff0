"""What a run reports while it trains: text and a progress bar for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmt.training.event_log import json_values
from nmt.training.loss import perplexity
from nmt.training.summary import summary_text
from nmt.training.throughput import Tokens


class Progress:
    """Reports nothing, for processes other than the first. The subclasses report to people or to programs."""

    total_updates = 0

    def report(self, event: str, values: Mapping[str, Any], text: str | None) -> None:
        """Report an event: its values to programs; its text, if there is one, to people."""

    def begin(self, updates: int, total: int) -> None:
        """Training starts or continues, after so many of all updates."""
        self.total_updates = total

    def update(self, epoch: int, loss: float, speed: Tokens, seconds_left: float) -> None:
        """An update was made. `loss` is in nats per target token, `speed` in tokens per second."""

    def close(self) -> None:
        """Training has ended, in whatever way."""

    def start(self, summary: Mapping[str, Any]) -> None:
        """What is about to be trained, as `summarize` gives it."""
        self.report("start", summary, summary_text(summary))

    def skipped(self, update: int) -> None:
        """An update was skipped: its loss or gradient was not finite."""
        self.report("skipped", {"update": update}, f"update {update} skipped: its loss or gradient is not finite")

    def train(self, event: Mapping[str, Any], seconds_left: float) -> None:
        """A `train` event of `metrics.jsonl`."""
        speed = Tokens(event["source_tokens_per_second"], event["target_tokens_per_second"])
        measured = _measured(event["loss"], speed, seconds_left)
        text = f"epoch {event['epoch']}, update {event['update']}/{self.total_updates}: {measured}"
        self.report("train", {**event, "seconds_left": seconds_left}, text)

    def validation(self, event: Mapping[str, Any], *, best: bool, bleu_name: str) -> None:
        """A `validation` event of `metrics.jsonl`."""
        lines = [
            f"epoch {event['epoch']}, update {event['update']}, {event['seconds'] / 60:.1f} min: validation "
            f"loss {event['loss']:.3f}, perplexity {event['perplexity']:.2f}, {bleu_name} {event['bleu']:.2f}"
            f"{', the best so far' if best else ''}"
        ]
        for example in event["examples"]:
            lines += [f"    {name:<12}{example[name]}" for name in ("source", "reference", "hypothesis")] + [""]
        self.report("validation", {**event, "best": best}, "\n".join(lines))

    def checkpoint(self, path: Path, update: int) -> None:
        """A checkpoint was saved, from which training can continue."""
        self.report("checkpoint", {"update": update, "path": str(path)}, None)

    def end(self, event: Mapping[str, Any]) -> None:
        """The `end` event of `metrics.jsonl`."""
        self.report("end", event, f"Done: {event['reason']}, in {event['seconds'] / 60:.1f} minutes.")

    def evaluation(self, table: str, scores: Mapping[str, Any], commands: Sequence[str]) -> None:
        """The finished run's scores, as a table and as in `evaluation.json`, and commands to type next."""
        self.report("evaluation", scores, "\n  ".join([f"\n{table}\n\nNext:", *commands]))

    def stopped(self, checkpoint: Path | None, command: str) -> None:
        """A signal has stopped the run. `command` continues from the checkpoint, if one was saved."""
        saved = f"Saved {checkpoint}. To continue: {command}"
        text = "Stopped before training began: nothing was changed." if checkpoint is None else saved
        self.report("stopped", {"checkpoint": checkpoint and str(checkpoint), "command": command}, text)

    def message(self, line: str) -> None:
        """Any other message."""
        self.report("message", {"text": line}, line)


class TextProgress(Progress):
    """Text on standard output, and on a terminal a bar, on standard error."""

    _bar: tqdm[Any] | None = None  # on a terminal, during training

    def report(self, event: str, values: Mapping[str, Any], text: str | None) -> None:
        if text is not None and (event != "train" or self._bar is None):  # the bar shows the same
            with tqdm.external_write_mode():
                print(text, flush=True)

    def begin(self, updates: int, total: int) -> None:
        super().begin(updates, total)
        # A recorded terminal may say that it has no columns: then 100.
        columns = shutil.get_terminal_size((100, 24)).columns
        layout = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
        bar = tqdm(initial=updates, total=total, disable=None, ncols=columns, bar_format=layout, desc="training")
        self._bar = None if bar.disable else bar

    def update(self, epoch: int, loss: float, speed: Tokens, seconds_left: float) -> None:
        if self._bar is not None:
            self._bar.set_description(f"epoch {epoch}", refresh=False)
            self._bar.set_postfix_str(_measured(loss, speed, seconds_left), refresh=False)
            self._bar.update()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class JsonProgress(Progress):
    """On standard output one JSON object a line, with the fields of `metrics.jsonl` and more; no bar."""

    def report(self, event: str, values: Mapping[str, Any], text: str | None) -> None:
        print(json.dumps({"event": event} | json_values(values), ensure_ascii=False), flush=True)


def _measured(loss: float, speed: Tokens, seconds_left: float) -> str:
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
