"""Clients who read or write slowly: they hold nobody up, and do not keep their connections for ever."""

import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from support.serving import asked, served

from nmt.page import api, connections, explanation
from nmt.translator import Translator

HEAD = b"POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LOOK = b"GET /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connected(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rstrip("/").rpartition(":")[2])), timeout=20)


def received_until_closed(client: socket.socket) -> tuple[float, int]:
    """How many seconds that took, and how many bytes came."""
    begun, received = time.monotonic(), 0
    with suppress(ConnectionResetError):
        while piece := client.recv(1 << 16):
            received += len(piece)
    return time.monotonic() - begun, received


def test_a_request_that_does_not_arrive_is_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW_REQUEST", 0.5)
    monkeypatch.setattr(connections, "IDLE", 1)
    with served({}, runs=tmp_path) as address:
        for sent in (b"", b"GET", HEAD, LOOK + b"GET /api", LOOK * 2 + HEAD):
            with connected(address) as client:
                client.sendall(sent)
                assert 0.3 < received_until_closed(client)[0] < 10


@pytest.mark.long
def test_more_connections_than_files_fill_no_log(best: str, tmp_path: Path) -> None:
    command = f"ulimit -n 64; exec '{sys.executable}' -u -m nmt serve '{best}' --port 0"
    log = tmp_path / "log"
    with log.open("wb") as file, subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=file) as run:
        try:
            assert run.stdout is not None
            address = run.stdout.readline().decode().split()[1]
            clients = [connected(address) for _ in range(200)]
            time.sleep(2.5)
            for client in clients:
                client.close()
            assert asked(address, "/api/translate", {"text": "der Hund"})["tokens"]
        finally:
            run.kill()
    said = log.read_text(encoding="utf-8").splitlines()
    assert len(said) <= 6
    assert any("ulimit -n raises the limit" in line for line in said)
    assert "Traceback" not in str(said)


def test_an_answer_that_is_not_read_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SLOW_READER", 0.5)
    with served({}, runs=tmp_path) as address, connected(address) as client:
        library = b"GET /static/vendor/d3-7.9.2.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
        client.sendall(library * 80)  # more than all buffers on the way hold
        time.sleep(2.5)
        assert received_until_closed(client)[1] < 80 * 250_000


def test_slow_readers_and_writers_hold_nobody_up(best: str, tmp_path: Path) -> None:
    translator = Translator.load(best)
    [expected] = translator.translate(["der Hund"])
    with served({"1": ("one", translator)}, runs=tmp_path) as address:
        clients = [connected(address) for _ in range(90)]
        for number, client in enumerate(clients):
            if number % 3 == 0:
                client.sendall(HEAD[: number // 3])
            elif number % 3 == 1:
                client.sendall(HEAD + b"Content-Length: 30\r\n\r\n{")
            else:
                client.sendall(b"GET /static/vendor/d3-7.9.2.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        begun, question = time.monotonic(), {"text": "der Hund"}
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: asked(address, "/api/translate", dict(question)), range(16)))
        assert [answer["text"] for answer in answers] == [expected.text] * 16
        assert time.monotonic() - begun < 10
        for client in clients:
            client.close()


def test_nothing_is_computed_for_clients_that_have_gone(best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page's own, which asks anew while somebody types."""
    translator, begun, go_on = Translator.load(best), [], threading.Event()
    real = explanation.explain

    def explain(translator: Translator, sentence: str, **more: object) -> object:
        begun.append(sentence)
        assert go_on.wait(20)
        return real(translator, sentence, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "explain", explain)
    with served({"1": ("one", translator)}) as address:
        for word in ("Ba", "De", "Fi", "Go"):
            body = f'{{"text": "{word}"}}'.encode()
            with connected(address) as client:
                client.sendall(
                    HEAD.replace(b"translate", b"explain") + b"Content-Length: %d\r\n\r\n" % len(body) + body
                )
                while not begun:  # the first
                    time.sleep(0.05)
                time.sleep(0.2)
        time.sleep(0.5)  # until the server knows that they have gone
        go_on.set()
        asked(address, "/api/explain", {"text": "Hu"})
    assert begun == ["Ba", "Hu"]
