"""`metrics.jsonl`."""

from contextlib import closing
from pathlib import Path

from support.runs import events

from nmt.training.event_log import EventLog


def test_metrics_are_cut_back_to_their_size_at_the_checkpoint(tmp_path: Path) -> None:
    with closing(EventLog(tmp_path)) as log:
        assert log.size == 0
        log.write("train", 1, 1, loss=1.5)
        size = log.size
        log.write("train", 2, 1, loss=1.25)
    with closing(EventLog(tmp_path, size)) as log:
        assert log.size == size
        log.write("train", 2, 1, loss=1.0)
        assert log.size == (tmp_path / "metrics.jsonl").stat().st_size
    with closing(EventLog(tmp_path, 1000)):  # more than there is: no gap is filled
        assert [event["loss"] for event in events(tmp_path)] == [1.5, 1.0]


def test_events_are_valid_json_and_are_passed_on(tmp_path: Path) -> None:
    followed: list[dict[str, object]] = []
    with closing(EventLog(tmp_path, follow=followed.append)) as log:
        log.write("train", 1, 1, perplexity=float("inf"), best=None, reason="größer", count=3)
    expected = {"event": "train", "update": 1, "epoch": 1, "perplexity": None, "best": None}
    assert events(tmp_path) == followed == [{**expected, "reason": "größer", "count": 3}]
    assert "größer" in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8")
