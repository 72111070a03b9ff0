"""Ctrl-C and SIGTERM."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import BaseModel, model_serializer
from support.cli import command
from support.runs import HARD, ConfigMaker, after_update, contents, events

from nmt.config.reading import to_yaml
from nmt.system.errors import UserError
from nmt.training.interruption import Interrupted, StopSignals
from nmt.training.run import run


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
    Unfinished()  # as a progress bar may be
    said = capfd.readouterr().err
    assert "Stopping after this update" in said
    assert "Exception ignored" not in said


class Unfinished:
    """Complains as it is deleted."""

    def __del__(self) -> None:
        raise AttributeError("it was cut off half-way")


class Model(BaseModel):
    """pydantic turns whatever is raised while it writes a model into its own error."""

    @model_serializer
    def written(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_breaks_off_what_can_be_abandoned_whatever_a_library_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def swallow() -> None:
        with suppress(BaseException):
            signal.raise_signal(signal.SIGTERM)

    for work in (lambda: signal.raise_signal(signal.SIGINT), Model().model_dump, swallow):
        stop = StopSignals()
        with stop.installed():
            with pytest.raises(Interrupted), stop.abandoning():
                work()
            assert stop.requested
            with pytest.raises(Interrupted), stop.abandoning():
                raise AssertionError("work began after a stop was requested")
    stop = StopSignals()
    with stop.installed(), pytest.raises(UserError), stop.abandoning():
        raise UserError("an error without a signal")
    monkeypatch.setattr(sys, "stderr", None)  # closed before the program started
    with stop.installed():
        signal.raise_signal(signal.SIGTERM)
    assert stop.requested


def test_a_signal_may_come_while_standard_error_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at Ctrl-C on a terminal that Ctrl-S stopped, where a progress bar waits to be drawn."""
    reading, writing = os.pipe()
    text = 4096 * ("x" * 1023 + "\n")  # more than a pipe holds
    received = []

    def interrupt_and_read() -> None:
        while not select.select([reading], [], [], 1)[0]:
            pass
        time.sleep(0.1)  # by now it waits for the reader
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(0.1)
        with open(reading, encoding="utf-8") as stream:
            received.append(stream.read())

    stop = StopSignals()
    reader = threading.Thread(target=interrupt_and_read)
    reader.start()
    with open(writing, "w", encoding="utf-8") as stream, stop.installed():
        monkeypatch.setattr(sys, "stderr", stream)
        print(text, end="", file=sys.stderr, flush=True)
        assert stop.requested
    reader.join()
    assert received[0].count("\nStopping after this update") == 1
    assert received[0].count("x") == text.count("x")


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


def test_a_signal_lets_the_update_finish(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(*HARD)
    stop = StopSignals()
    after_update(monkeypatch, 5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with stop.installed():
        folder = run(config, stop, resume=False)
    assert contents(folder)["training"]["state"]["update"] == 5
    assert events(folder, "end") == []
