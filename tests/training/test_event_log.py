"""`metrics.jsonl` and TensorBoard."""

from contextlib import closing
from pathlib import Path

import pytest
from support.runs import events

from nmt.training import event_log
from nmt.training.event_log import EventLog


def test_metrics_are_cut_back_to_their_size_at_the_checkpoint(tmp_path: Path) -> None:
    with closing(EventLog(tmp_path)) as log:
        assert log.size == 0
        log.write("train", 1, 1, loss=1.5)
        size = log.size
        log.write("train", 2, 1, loss=1.25)
    assert (tmp_path / "metrics.jsonl").stat().st_size > size
    with closing(EventLog(tmp_path, size)) as log:
        assert log.size == size
        log.write("train", 2, 1, loss=1.0)
        assert log.size == (tmp_path / "metrics.jsonl").stat().st_size
    assert [event["loss"] for event in events(tmp_path)] == [1.5, 1.0]


def test_metrics_that_are_lost_leave_no_gap(tmp_path: Path) -> None:
    """Where the file is shorter than it was at the checkpoint, nothing is put in the missing place."""
    with closing(EventLog(tmp_path, 1000)) as log:
        log.write("train", 2, 1, loss=1.0)
    assert [event["loss"] for event in events(tmp_path)] == [1.0]


def test_metrics_hold_valid_json_alone(tmp_path: Path) -> None:
    with closing(EventLog(tmp_path)) as log:
        log.write("train", 1, 1, loss=float("nan"), perplexity=float("inf"), best=None, reason="größer", count=3)
    expected = {"event": "train", "update": 1, "epoch": 1, "loss": None, "perplexity": None, "best": None}
    assert events(tmp_path) == [{**expected, "reason": "größer", "count": 3}]
    assert "größer" in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8")


def test_tensorboard_gets_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scalars = []

    class Writer:
        def add_scalar(self, name: str, value: float, step: int) -> None:
            scalars.append((name, value, step))

        def close(self) -> None:
            scalars.append(("closed", 0, 0))

    monkeypatch.setattr(event_log, "_summary_writer", lambda *_: Writer())
    with closing(EventLog(tmp_path)) as log:
        log.write("validation", 4, 1, loss=2.0, bleu=30.0)
        log.write("end", 4, 1, reason="4 updates")
    assert scalars == [("validation/loss", 2.0, 4), ("validation/bleu", 30.0, 4), ("closed", 0, 0)]
