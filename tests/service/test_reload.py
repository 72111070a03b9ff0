"""Models that are replaced while requests are answered, and models that are loaded at their first use."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from support.checkpoints import Saver
from support.checkpoints import save as save

from nmt.page.app import make_app
from nmt.service.models import OnDemand
from nmt.translator import Translator

TEXT = "Ba de Fi Go Hu ja"
QUESTION = {"q": TEXT, "source": "de", "target": "en"}


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, list[dict[str, Any]]]]:
    """`nmt serve`, its address, and its log as it grows."""
    command = [sys.executable, "-u", "-m", "nmt", "serve", *arguments, "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    log: list[dict[str, Any]] = []
    errors = process.stderr
    reading = threading.Thread(target=lambda: log.extend(json.loads(line) for line in errors if line[0] == "{"))
    reading.start()
    try:
        yield process, process.stdout.readline().removeprefix("Open ").partition("/ ")[0], log
    finally:
        process.terminate()
        process.wait(60)
        reading.join()
        process.stdout.close()
        errors.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def text_of(path: Path) -> str:
    return Translator.load(path).translate([TEXT])[0].text


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_at_a_hangup_a_new_model_takes_over_and_no_request_is_lost(save: Saver, workers: str) -> None:
    path, new = save("served"), save("new", "training.seed=7")
    old_text, new_text = text_of(path), text_of(new)
    assert old_text != new_text
    answers: list[tuple[int, str]] = []
    stop = threading.Event()
    with serving(str(path), "--workers", workers, "--log-format", "json") as (process, address, log):

        def ask() -> None:
            while not stop.is_set():
                answer = httpx.post(f"{address}/translate", json=QUESTION, timeout=60)
                answers.append((answer.status_code, answer.json().get("translatedText")))

        def logged(text: str) -> int:
            return sum(text in entry["message"] for entry in log)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len({entry["process"] for entry in log}) == int(workers))
        damaged = path.with_suffix(".part")
        damaged.write_bytes(path.read_bytes()[:-100])
        os.replace(damaged, path)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: logged("is not replaced, the old model stays: ") == int(workers))
        assert {text for _, text in answers} == {old_text}
        os.replace(new, path)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: logged("is replaced by the model now in ") == int(workers))
        count = len(answers)
        wait_until(lambda: len(answers) > count + 12)
        stop.set()
        for thread in threads:
            thread.join()
        assert process.poll() is None
    assert {status for status, _ in answers} == {200}
    assert {text for _, text in answers} == {old_text, new_text}
    assert {text for _, text in answers[count + 6 :]} == {new_text}
    assert len(log) == len(answers) + 2 * int(workers)  # and nothing else


def test_only_models_that_changed_are_loaded_again(save: Saver, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [save("one"), save("two", "training.seed=7")]
    models = {str(number): (path.name, Translator.load(path)) for number, path in enumerate(paths, start=1)}
    application = make_app(models)
    loaded: list[str] = []
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda path, **more: (loaded.append(path), load(path, **more))[1])

    async def hang_up() -> None:
        application.reload()  # type: ignore[attr-defined]
        await asyncio.gather(*application._tasks)  # type: ignore[attr-defined]

    asyncio.run(hang_up())
    assert loaded == []
    os.utime(paths[1])
    asyncio.run(hang_up())
    assert loaded == [str(paths[1])]


def test_a_lazy_model_is_loaded_when_it_is_asked_for(save: Saver) -> None:
    paths = [save("one"), save("two", "training.seed=7")]
    expected = [text_of(path) for path in paths]
    models = {str(number): (path.name, Translator.load(path)) for number, path in enumerate(paths, start=1)}
    options = Namespace(keys=None, log_format=None, lazy=True)
    application = make_app(models, options=options)
    served = application._server.models  # type: ignore[attr-defined]
    eager = make_app(models)
    with TestClient(application, base_url="http://localhost") as client:
        listed = client.get("/api/models").json()
        assert all(isinstance(one, OnDemand) and "_loaded" not in vars(one) for one in served.values())
        for path in ("/api/translate", "/api/explain"):
            assert client.post(path, json={"text": TEXT, "model": "2"}).json()["text"] == expected[1]
        assert ["_loaded" in vars(one) for one in served.values()] == [False, True]
        assert client.post("/translate", json=QUESTION).json()["translatedText"] == expected[0]
    with TestClient(eager, base_url="http://localhost") as client:
        assert client.get("/api/models").json() == listed
