"""Ctrl-C and SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import command
from support.runs import HARD, ConfigMaker, after_update, contents, events, finish

from nmt.config.reading import to_yaml
from nmt.training import loop
from nmt.training.interruption import StopSignals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_the_second_stops(
    number: signal.Signals, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stop = StopSignals()
    with stop.installed():
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    Unfinished()  # as an iterator may be
    said = capfd.readouterr().err
    assert "Stopping after this update" in said
    assert "Exception ignored" not in said


class Unfinished:
    """Complains as it is deleted."""

    def __del__(self) -> None:
        raise AttributeError("it was cut off half-way")


@pytest.mark.long
@pytest.mark.parametrize("broken", ["stdout", "stderr"])
def test_a_stop_saves_though_nobody_listens(tmp_path: Path, make_config: ConfigMaker, broken: str) -> None:
    """At Ctrl-C a terminal stops `tee`, too."""
    config = make_config("training.max_updates=100000")
    path = tmp_path / "long.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    reading, writing = os.pipe()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | {broken: writing}
    process = subprocess.Popen(command("train", str(path)), **streams, env=os.environ | {"PYTHONUNBUFFERED": ""})
    os.close(writing)
    folder = Path(config.output_dir) / config.name
    metrics = folder / "metrics.jsonl"
    while not metrics.exists() or not metrics.stat().st_size:
        assert process.poll() is None
        time.sleep(0.02)
    os.close(reading)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    assert contents(folder)["training"]["state"]["update"] > 0


@pytest.mark.parametrize("work", ["update", "validation"])
def test_a_signal_lets_the_update_or_the_validation_finish(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    config = make_config(*HARD)
    if work == "update":
        after_update(monkeypatch, 4, lambda: signal.raise_signal(signal.SIGTERM))
    else:
        real = loop.validate
        interrupt = lambda *all: signal.raise_signal(signal.SIGINT) or real(*all)  # noqa: E731
        monkeypatch.setattr(loop, "validate", interrupt)
    folder = finish(config)
    state = contents(folder)["training"]["state"]
    assert (state["update"], state["validated"]) == (4, 4)
    assert [event["event"] for event in events(folder)][-1] == "validation"
