"""What a run says: the time left by a clock that we turn, and JSON for programs."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from support.cli import error_of, write_config
from support.runs import ConfigMaker, events, finish

from nmt.cli import main
from nmt.config.run import Config
from nmt.training import loop
from nmt.training.progress import JsonProgress, Tokens, describe_speed
from nmt.training.summary import changed_settings
from nmt.training.validation import Validation

STARTED = {"folder", "training_pairs", "source_types", "wiring", "parameters", "device", "threads", "precision"}


class Clock:
    """Time passes only when somebody lets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_left_follows_updates_that_become_slow(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first 40 updates take a second each, the others a minute; a validation takes 100 seconds."""
    clock = Clock()

    def timed_update(*arguments: Any) -> float:
        clock.now += 1 if arguments[4] < 40 else 60
        return 10.0

    def timed_validate(*arguments: Any) -> Validation:
        clock.now += 100
        return Validation(2.0, 3.0, list(arguments[4].target))

    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(loop, "update", timed_update)
    monkeypatch.setattr(loop, "validate", timed_validate)
    finish(make_config("training.max_updates=140", "training.validate_every=20", "training.log_every=30"))
    said = re.findall(r"update (\d+)/140: .*, ([\d.]+ \S+) left", capsys.readouterr().out)
    left = dict(said)
    assert left["30"] == f"{(110 + 6 * 100) / 60:.1f} min"
    unit = {"s": 1 / 60, "min": 1, "h": 60}
    minutes = {n: float(text.split()[0]) * unit[text.split()[1]] for n, text in left.items()}
    assert minutes["90"] == pytest.approx(50 + 3 * 100 / 60, rel=0.2)
    assert minutes["120"] == pytest.approx(20 + 1 * 100 / 60, rel=0.1)


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
