"""Runs of the tiny model of `conftest`: how tests stop and kill them, and compare what they leave behind."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.model.seq2seq import Seq2Seq
from nmt.training import loop
from nmt.training.interruption import StopSignals
from nmt.training.run import run
from nmt.training.validation import Validation
from support.tiny_config import ConfigMaker as ConfigMaker

# 45 pairs in batches of 6 are 8 batches, so with accumulation 4 updates an epoch: update 6 is in mid-epoch.
UPDATES = 10
HARD = [
    f"training.max_updates={UPDATES}",
    "training.log_every=1",
    "training.accumulate=2",
    "training.teacher_forcing={schedule: linear, ratio: 0.9, decay: 0.01}",
    "training.checkpoint_every=3",
    "training.moving_average=0.9",
    "training.schedule={kind: cosine, warmup: 3}",
]


MEASURED = {"seconds", "source_tokens_per_second", "target_tokens_per_second"}


class Killed(BaseException):
    """Ends a run as a kill would: nothing is saved on the way out."""


def after_update(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Do something right behind the computation of that update, until `monkeypatch` undoes it."""
    real = loop.update

    def update(*arguments: Any) -> float:
        nll = real(*arguments)
        if arguments[4] + 1 == number:
            act()
        return nll

    monkeypatch.setattr(loop, "update", update)


def run_and_stop(monkeypatch: pytest.MonkeyPatch, config: Config, number: int, *, resume: bool = False) -> Path:
    """Run until a stop is asked for in that update."""
    stop = StopSignals()
    with monkeypatch.context() as patch:
        after_update(patch, number, lambda: setattr(stop, "requested", True))
        return run(config, stop, resume=resume)


def run_and_kill(monkeypatch: pytest.MonkeyPatch, config: Config, number: int, *, resume: bool = False) -> None:
    """Run until it is killed in that update."""

    def kill() -> None:
        raise Killed

    with monkeypatch.context() as patch:
        after_update(patch, number, kill)
        with pytest.raises(Killed):
            run(config, StopSignals(), resume=resume)


def finish(config: Config, *, resume: bool = False) -> Path:
    return run(config, StopSignals(), resume=resume)


def events(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")  # and nowhere else
    return [event for event in map(json.loads, filter(None, lines)) if kind in (None, event["event"])]


def without_times(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k not in MEASURED} for event in log]


def contents(folder: Path, name: str = "last.safetensors") -> dict[str, Any]:
    """A checkpoint's weights and training state, but for times and the run's name."""
    checkpoint = checkpoint_file.read(folder / name)
    if checkpoint["training"] is not None:
        for name in ("seconds", "update_seconds"):
            checkpoint["training"]["state"].pop(name)
        checkpoint["training"].pop("metrics_size")
    return {"model": dict(checkpoint["model"]), "training": checkpoint["training"]}


def assert_same(one: Any, other: Any) -> None:
    """Equal bit by bit, however deeply the tensors lie."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == other


def assert_same_run(one: Path, other: Path) -> None:
    assert_same(contents(one), contents(other))
    assert_same(contents(one, "best.safetensors"), contents(other, "best.safetensors"))
    assert without_times(events(one)) == without_times(events(other))


LOSSES = [3.0, 2.0, 2.5, 1.9, 2.4, 2.2, 2.0, 1.0]
BLEUS = [10.0, 9.0, 30.0, 20.0, 29.0, 5.0, 40.0, 50.0]


def script(monkeypatch: pytest.MonkeyPatch, losses: Sequence[float], bleus: Sequence[float]) -> list[dict[str, Any]]:
    """Have the validations come out like this; returns the list that the model's weights are put in at each."""
    weights: list[dict[str, Any]] = []

    def validate(model: Seq2Seq, *others: Any) -> Validation:
        text = others[3]
        weights.append({name: value.clone() for name, value in model.state_dict().items()})
        return Validation(losses[len(weights) - 1], bleus[len(weights) - 1], list(text.target))

    monkeypatch.setattr(loop, "validate", validate)
    return weights
