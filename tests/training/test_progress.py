"""What a run says: the time left, and JSON for programs."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.cli import error_of, write_config
from support.runs import ConfigMaker, events

from nmt.cli import main
from nmt.config.run import Config
from nmt.training.progress import HALF_LIFE, JsonProgress, ThroughputMeter, Tokens, describe_speed
from nmt.training.summary import changed_settings

STARTED = {"folder", "training_pairs", "source_types", "wiring", "parameters", "device", "threads", "precision"}


def metered(*durations: tuple[int, float]) -> ThroughputMeter:
    """A meter after so many updates of so many seconds each, and so on."""
    meter = ThroughputMeter()
    for updates, seconds in durations:
        for _ in range(updates):
            meter.record_update(Tokens(30, 20), seconds)
    return meter


def test_the_time_left_is_that_of_the_recent_speed_and_of_the_validations() -> None:
    assert math.isnan(metered().seconds_left(10, 0))
    for updates in (1, 2, 1000):
        assert metered((updates, 0.1)).seconds_left(10, 0) == pytest.approx(1)
    # A thousand updates of 0.1 s, then each takes 5.25 s: 168 of them took 14.7 minutes.
    assert metered((1000, 0.1), (168, 5.25)).seconds_left(168, 0) / 60 == pytest.approx(14.7, rel=0.01)
    meter = metered((1000, 1.0), (HALF_LIFE, 3.0))  # the last ones count for half
    meter.validation_seconds = 60.0
    assert meter.seconds_left(5, 3) == pytest.approx(5 * 2 + 3 * 60)


def test_speed_is_that_since_the_last_train_event() -> None:
    assert math.isnan(metered().speed.source)
    meter = metered((1, 10.0))
    meter.reset_speed()
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
    assert start["changed"]["training.batch_size"] == 4
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
    JsonProgress().report("train", {"event": "train", "loss": math.nan, "seconds_left": math.inf, "update": 3})
    JsonProgress().stopped(None, "nmt train")
    assert lines(capsys.readouterr().out) == [
        {"event": "train", "loss": None, "seconds_left": None, "update": 3},
        {"event": "stopped", "checkpoint": None, "command": "nmt train"},
    ]


def test_durations_have_a_suitable_unit() -> None:
    for seconds, text in ((0.4, "0 s"), (59.0, "59 s"), (90.0, "1.5 min"), (7200.0, "2.0 h")):
        assert describe_speed(1.0, Tokens(3, 2), seconds) == f"loss 1.000, ppl 2.718, 3 src/s, 2 tgt/s, {text} left"
    # At the end of a run that was resumed with an end that lies behind it, no update was made.
    assert describe_speed(1.0, Tokens(math.nan, math.nan), math.inf) == "loss 1.000, ppl 2.718"


def test_settings_that_differ_from_their_defaults_are_named(make_config: ConfigMaker) -> None:
    """A part's own options are compared with the part's defaults."""
    pieces = "data.source={tokenizer: sentencepiece, language: de, train: a.de, validation: b.de, min_frequency: 1}"
    plain = make_config(pieces, "data.target.test=null", "training.schedule={kind: plateau, patience: 3, factor: 0.5}")
    changed = changed_settings(plain)
    assert changed["data.source.tokenizer"] == "sentencepiece"
    assert {name for name in changed if name.startswith("data.source.")} == {
        *("data.source.tokenizer", "data.source.train", "data.source.validation")
    }
    assert {name: value for name, value in changed.items() if "schedule" in name} == {
        "training.schedule.kind": "plateau",
        "training.schedule.patience": 3,
    }
    assert changed_settings(Config(name="x")) == {"name": "x"}
