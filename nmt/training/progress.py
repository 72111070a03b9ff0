"""What a run prints while it trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from nmt.training.loss import perplexity


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
