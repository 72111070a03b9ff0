"""`nmt serve` as a process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from support.cli import SOURCES, error_of
from support.serving import asked

from nmt.cli import main
from nmt.system import bundled

HEAD = b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def port_of(address: str) -> int:
    return int(address.rstrip("/").rpartition(":")[2])


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its address."""
    command = [sys.executable, "-u", "-m", "nmt", "serve", *arguments, "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, line.removeprefix("Open ").partition(" ")[0]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.mark.long
def test_it_finishes_what_it_has_begun(best: str) -> None:
    """One request arrives in full, and the process is told to end before it has answered."""
    with serving(best) as (process, address):
        [model] = asked(address, "/api/models")
        assert model["name"] == Path(best).parent.name
        with socket.create_connection(("127.0.0.1", port_of(address))) as client:
            body = json.dumps({"text": SOURCES[0], "beam_size": 3}).encode()
            client.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
            asked(address, "/api/models")  # so that the server has seen the beginning
            process.send_signal(signal.SIGTERM)
            client.sendall(body[-1:])
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        assert received.startswith(b"HTTP/1.1 200")
        assert json.loads(received.partition(b"\r\n\r\n")[2])["steps"]
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in errors


@pytest.mark.long
def test_nobody_who_listens_holds_up_the_end(best: str) -> None:
    with serving(best) as (process, address):
        with httpx.stream("GET", f"{address}api/runs/events", timeout=60) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("retry")
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            with suppress(httpx.RemoteProtocolError):  # it is cut off
                list(lines)
            process.wait(timeout=60)
        assert time.monotonic() - begun < 10  # uvicorn would wait for 30 seconds
        assert process.returncode == 130


@pytest.mark.long
def test_who_does_not_wait_for_the_answers_stops_it_at_once() -> None:
    with serving() as (process, address), ExitStack() as clients:
        for n in range(20):
            body = json.dumps({"text": f"{n} " + "Hund Haus Wiese Mann " * 12, "beam_size": 50}).encode()
            client = clients.enter_context(socket.create_connection(("127.0.0.1", port_of(address))))
            client.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        asked(address, "/api/models")  # the server has read what came before
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(2)]
        assert said == ["\n", "Finishing the requests that are running. Press Ctrl-C again to stop immediately.\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr.read() == "Stopped.\n"


@pytest.mark.long
def test_who_is_let_in_from_elsewhere(best: str) -> None:
    """Everybody with --open, which is said, and whoever has the token that is printed; by names that are known."""
    with serving(best, "--host", "0.0.0.0", "--open", "--name", "translate.example") as (process, address):
        assert address.startswith("http://0.0.0.0:")
        here = address.replace("0.0.0.0", "127.0.0.1")
        for name, status in (("translate.example", 200), ("other.example", 421)):
            assert httpx.get(here, headers={"host": name}).status_code == status
        process.send_signal(signal.SIGTERM)
        assert "accepts unauthenticated requests" in process.communicate(timeout=60)[1]
    with serving(best, "--host", "0.0.0.0", "--token") as (_, address):
        place, _, token = address.replace("0.0.0.0", "127.0.0.1").partition("?token=")
        assert len(token) >= 16
        assert httpx.get(place).status_code == 401
        assert httpx.get(place, headers={"authorization": f"Bearer {token}"}).status_code == 200


def workers_of(process: int) -> set[int]:
    """The processes of a server with several."""
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(process)]
    found = subprocess.run(command, capture_output=True, text=True)
    return {int(line.split()[0]) for line in found.stdout.splitlines() if "spawn_main" in line}


@pytest.mark.long
def test_when_a_worker_is_killed_the_others_go_on(best: str) -> None:
    token = {"authorization": "Bearer a-token-for-this-test"}
    with serving(best, "--workers", "2", "--token", "a-token-for-this-test") as (process, address):
        assert address.endswith("/?token=a-token-for-this-test")
        workers = workers_of(process.pid)
        assert len(workers) == 2
        killed = min(workers)
        os.kill(killed, signal.SIGKILL)
        for _ in range(20):
            answer = httpx.get(f"{address.partition('?')[0]}api/models", headers=token, timeout=60)
            assert len(answer.json()) == 1
        for _ in range(300):  # until another has taken its place
            if len(workers_of(process.pid) - {killed}) == 2:
                return
            time.sleep(0.1)
        pytest.fail(f"{killed} was killed, and nothing came in its place")


def test_wrong_options_are_one_line(
    best: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bundled, "MODEL", tmp_path / "none" / "model.safetensors")
    names = ("https://translate.example", "translate.example/page", "translate.example:80", "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for options, error in (
            ([], "is missing: give a CHECKPOINT"),
            (["--host", "0.0.0.0"], "0.0.0.0 lets everybody who can reach this machine use the models: add --token"),
            (["--token", "short"], "--token: give 16 to 200 letters"),
            (["--token", "a token with spaces in it"], "--token: give 16 to 200 letters"),
            (["--port", "70000"], "--port: '70000'"),
            (["--runs", "no/folder"], "--runs no/folder"),
            (["no/best.safetensors"], "no/best.safetensors"),
            ([f"{n}.safetensors" for n in range(9)], "9 checkpoints"),
            *(([best, "--name", name], f"--name {name}: give only a host name") for name in names),
            ([best, "--port", str(taken.getsockname()[1])], "Address already in use): choose another --port"),
            ([best, "--host", "no.such.host.invalid", "--open"], "cannot listen at no.such.host.invalid"),
        ):
            assert main(["serve", *options]) == 2
            assert error in error_of(capsys)
