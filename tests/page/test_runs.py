"""Runs of training, as the server lists them and sends on what they measure, beside the files themselves."""

import json
import time
import urllib.error
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from support.runs import events
from support.serving import asked, served

from nmt.page import events as page_events
from nmt.page.runs import config_of, runs_in
from nmt.training.event_log import EventLog


@contextmanager
def listening(address: str, query: str = "") -> Iterator[httpx.Response]:
    with httpx.stream("GET", f"{address}api/runs/events{query}", timeout=30) as answer:
        yield answer


def next_of(name: str, lines: Iterator[str]) -> Any:
    """The data of the next message of this name."""
    while next(lines) != f"event: {name}":
        pass
    return json.loads(next(lines).removeprefix("data: "))


def test_runs_are_listed_with_their_settings(runs: Path) -> None:
    with served({}, runs=runs) as address:
        listed = asked(address, "/api/runs")
        assert {run["name"] for run in listed} == {"bahdanau", "none"}
        assert [run["changed"] for run in listed] == sorted((run["changed"] for run in listed), reverse=True)
        assert str(runs) not in json.dumps(listed)
        for run in listed:
            config = asked(address, f"/api/runs/{run['id']}")["config"]
            values = yaml.safe_load((runs / run["name"] / "config.yaml").read_text(encoding="utf-8"))
            assert config["model.attention.wiring"] == values["model"]["attention"]["wiring"] == run["name"]
            assert config["training.batch_size"] == str(values["training"]["batch_size"])
            assert {name.partition(".")[0] for name in config} == set(values)
        for wrong in ("nothing", "..%2Fbahdanau", "%00"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                asked(address, f"/api/runs/{wrong}")


def test_what_a_run_measures_is_sent_on_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "deep"
    folder.mkdir(parents=True)
    with closing(EventLog(folder)) as log, served({}, runs=tmp_path) as address:
        log.write("train", 1, 1, loss=2.5)
        size = log.size
        log.write("train", 2, 1, loss=float("nan"))
        [run] = asked(address, "/api/runs")
        with listening(address, f"?run={run['id']}") as answer:
            lines = answer.iter_lines()
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert [one["name"] for one in next_of("runs", lines)] == ["a/deep"]
            assert next_of("metrics", lines) == {"run": run["id"], "begins": True, "events": events(folder)}
            log.write("validation", 2, 1, bleu=7.0, examples=[{"source": "ä\u2028", "hypothesis": "<b>"}])
            assert next_of("metrics", lines) == {"run": run["id"], "begins": False, "events": events(folder)[-1:]}
            (tmp_path / "b").mkdir()
            (tmp_path / "b" / "metrics.jsonl").write_text("", encoding="utf-8")
            assert {one["name"] for one in next_of("runs", lines)} == {"a/deep", "b"}
            with closing(EventLog(folder, size)) as resumed:  # cuts off what came after `size`
                for update, loss in enumerate((2.25, 2.0, 1.9, 1.8), start=2):
                    resumed.write("train", update, 1, loss=loss)
            again = next_of("metrics", lines)
            while again["events"][-1]["update"] != 5:
                again["events"] += next_of("metrics", lines)["events"]
            assert again["begins"] is True
            assert [event.get("loss") for event in again["events"]] == [2.5, 2.25, 2.0, 1.9, 1.8]


def test_lines_that_are_no_events_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    lines = [
        b'{"update": 1, "loss": 1e999}',
        b"[1]",
        b"\xff\xfe",
        b"{",
        b"[" * 10_000,
        b'{"update": NaN}',
        b"",
        b'{"cut',
    ]
    (tmp_path / "run" / "metrics.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "run" / "config.yaml").write_text("a: {b: 2024-01-01, c: [1, .inf]}\nd: 1e5\n", encoding="utf-8")
    with served({}, runs=tmp_path) as address:
        [run] = asked(address, "/api/runs")
        assert set(asked(address, f"/api/runs/{run['id']}")["config"]) == {"a.b", "a.c", "d"}
        with listening(address, f"?run={run['id']}") as answer:
            sent = next_of("metrics", answer.iter_lines())
            assert sent["events"] == [{"update": 1, "loss": None}, {"update": None}]
    (tmp_path / "run" / "config.yaml").write_text("{", encoding="utf-8")
    [unreadable] = runs_in(tmp_path).values()
    assert config_of(unreadable) == {}


def test_there_are_only_so_many_listeners_and_runs_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_events, "MOST_STREAMS", 1)
    with served({}, runs=tmp_path) as address:
        for query, status in (("?run=x", 404), ("?" + "&".join(f"run={n}" for n in range(9)), 422)):
            with listening(address, query) as refused:
                assert refused.status_code == status
        with listening(address) as first:
            assert first.status_code == 200
            with listening(address) as second:
                assert (second.status_code, second.headers["retry-after"]) == (503, "10")
        for _ in range(100):  # until the server has noticed that the first one has gone
            with listening(address) as third:
                if third.status_code == 200:
                    return
            time.sleep(0.1)
        pytest.fail("the place of a listener who has gone stays taken")
