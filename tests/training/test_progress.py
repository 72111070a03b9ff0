"""What a run says: its speed, and JSON for programs."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.cli import error_of, write_config
from support.runs import events

from nmt.cli import main
from nmt.training.progress import Progress, ThroughputMeter, Tokens, describe_speed

STARTED = {"folder", "training_pairs", "source_types", "wiring", "parameters", "device", "threads", "precision"}


def test_speed_is_that_since_the_last_train_event() -> None:
    meter = ThroughputMeter()
    assert math.isnan(meter.speed.source)
    meter.record_update(Tokens(30, 20), 10.0)
    meter.reset()
    for seconds in (4.0, 6.0):
        meter.record_update(Tokens(30, 20), seconds)
    assert meter.speed == Tokens(6, 4)


def lines(said: str) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in said.splitlines()]
    assert all(next(iter(entry)) == "event" for entry in entries)
    return entries


def test_every_line_of_a_json_log_is_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(write_config(tmp_path))
    assert main(["train", config, "--log-format", "json"]) == 0
    captured = capsys.readouterr()
    said = lines(captured.out)
    assert [entry["event"] for entry in said] == [
        *("start", "train", "train", "checkpoint", "validation", "checkpoint", "train", "end", "evaluation")
    ]
    start, *others, evaluation = said
    assert start.keys() >= STARTED
    folder = tmp_path / "runs" / "tiny"
    recorded = [event for event in others if event["event"] in ("train", "validation", "end")]
    for event, same in zip(recorded, events(folder), strict=True):
        assert event.items() >= same.items()
    assert others[-1]["best"] == recorded[2]["bleu"]
    assert evaluation["models"] == json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["models"]
    assert "|" not in captured.err  # of a bar


def test_checks_and_errors_with_a_json_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(write_config(tmp_path))
    assert main(["train", config, "--log-format", "json", "--check"]) == 0
    assert [entry["event"] for entry in lines(capsys.readouterr().out)] == ["start", "message", "message"]
    assert main(["train", config, "--log-format", "json", "--set", "training.device=nowhere"]) == 2
    assert "nowhere" in error_of(capsys)
    Progress("json").report("train", {"event": "train", "loss": math.nan, "seconds_left": math.inf, "update": 3})
    assert lines(capsys.readouterr().out) == [{"event": "train", "loss": None, "seconds_left": None, "update": 3}]


def test_the_speed_in_text() -> None:
    assert describe_speed(1.0, Tokens(3, 2), 90.0) == "loss 1.000, ppl 2.718, 3 src/s, 2 tgt/s, 01:30 left"
    # At the end of a run that was resumed with an end that lies behind it, no update was made.
    assert describe_speed(1.0, Tokens(math.nan, math.nan), math.inf) == "loss 1.000, ppl 2.718"
