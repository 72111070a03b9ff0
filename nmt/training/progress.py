"""What a run prints while it trains: text, and a progress bar on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from nmt.training.loss import perplexity


class Progress:
    """Prints what a run reports, with a bar on a terminal; a `quiet` one prints nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar = tqdm(disable=True)  # during training, on a terminal

    def report(self, text: str, *, is_in_bar: bool = False) -> None:
        """Print a text, unless a bar shows the same."""
        if not self._quiet and (not is_in_bar or self._bar.disable):
            with tqdm.external_write_mode():
                print(text, flush=True)

    def begin(self, updates: int, total: int) -> None:
        """Training starts or continues, after so many of all updates."""
        layout = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
        disable = True if self._quiet else None  # None: unless it is a terminal
        self._bar = tqdm(
            initial=updates, total=total, disable=disable, dynamic_ncols=True, bar_format=layout, desc="training"
        )

    def update(self, epoch: int, measured: str) -> None:
        """An update was made, whose measurements are those of `describe_speed`."""
        self._bar.set_description(f"epoch {epoch}", refresh=False)
        self._bar.set_postfix_str(measured, refresh=False)
        self._bar.update()

    def close(self) -> None:
        """Training has ended, in whatever way."""
        self._bar.close()


def describe_validation(event: Mapping[str, Any], *, best: bool, bleu_name: str) -> str:
    """The text for a `validation` event of `metrics.jsonl`."""
    score = f"chrF {event['chrf']:.2f} (BLEU is undefined)" if "chrf" in event else f"{bleu_name} {event['bleu']:.2f}"
    lines = [
        f"epoch {event['epoch']}, update {event['update']}, {event['seconds'] / 60:.1f} min: validation "
        f"loss {event['loss']:.3f}, perplexity {event['perplexity']:.2f}, {score}"
        f"{', the best so far' if best else ''}"
    ]
    for example in event["examples"]:
        lines += [f"    {name:<12}{example[name]}" for name in ("source", "reference", "hypothesis")] + [""]
    return "\n".join(lines)


def describe_speed(loss: float, speed: tuple[float, float], seconds_left: float) -> str:
    """The loss, in nats per target token, the speed, in source and target tokens per second, and the time left."""
    losses, (source, target) = f"loss {loss:.3f}, ppl {perplexity(loss):.4g}", speed
    return f"{losses}, {source:.0f} src/s, {target:.0f} tgt/s, {tqdm.format_interval(seconds_left)} left"
