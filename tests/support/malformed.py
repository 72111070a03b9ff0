"""Requests that are wrong in all kinds of ways, and a server that has to stand them.

No answer may say 500, none may take longer than `PATIENCE`, and the good requests among them have to be answered as if
there were no others.
"""

import json
import random
import select
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

from support.serving import asked
from support.walk.odd import altered

PATIENCE = 20.0  # seconds
SILENCE = 0.25  # seconds after which a client whose request may be incomplete says that it has sent everything
CLIENTS = 24  # at the same time
GOOD_EVERY = 50
PATHS = ["/api/translate", "/api/explain", "/api/read", "/api/neighbours"]
LOOKS = ["/", "/static/main.js", *(f"/api{path}" for path in ("", "/models", "/runs", "/sets", "/runs/x", "/sets/1"))]
WORDS = ["Ba", "De", "Fi", "", " ", "\x00", "\ud800", "ä" * 50, "\U0001f600", "\u202e", "<img src=x>", "\u2028"]
Random = random.Random


def body(random: Random) -> bytes:
    """A question as it should be."""
    question = {"text": " ".join(random.choices(WORDS[:3], k=3)), "beam_size": random.randint(1, 3)}
    return json.dumps(question | {"target": "kip"} if random.random() < 0.2 else question).encode()


def request(content: bytes, path: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + content


def noise(random: Random) -> bytes:
    """Bytes that are no HTTP."""
    return random.randbytes(random.randint(0, 400)) + random.choice([b"", b"\r\n\r\n", b"\n\n"])


def damaged(random: Random) -> bytes:
    """A good request with some bytes changed, taken out, put in, or cut off."""
    return altered(request(body(random), random.choice(PATHS)), random)


def addressed(random: Random) -> bytes:
    """Methods, addresses and versions that there are not."""
    method = random.choice(["GET", "POST", "PUT", "OPTIONS", "HEAD", "TRACE", "CONNECT", "get", "G\x01T", ""])
    parts = ["..", "%2e%2e", "%00", "%ff", "etc/passwd", "static", "*", "x" * random.randint(1, 9000), "?run=", "//"]
    path = random.choice(["/", "", "http://evil.example/", "/static/", "/api/"]) + "/".join(random.choices(parts, k=3))
    version = random.choice(["HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/2", "", "x"])
    return f"{method} {path} {version}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1", "replace")


def headed(random: Random) -> bytes:
    """Headers that are wrong, twice there, or endless."""
    wrong = [
        *("Content-Length: -1", "Content-Length: 5, 5", "Content-Length: 9" + "9" * 30, "Content-Length: ٣"),
        *("Content-Length:", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x"),
        *("Host: evil.example", "Host:", "Host: [::", "Host: a b", "Origin: null", "Origin: http://["),
        *("Cookie: nmt-token=\xff; =;;", "Cookie: " + "a=b; " * 500, "Authorization: Bearer \xe4", ": x", "No colon"),
        *("X: " + "x" * 20_000, "Content-Type: text/html", "Content-Type:", "Upgrade: websocket", " folded: yes"),
        *("Content-Type: application/json; charset=utf-7", "Sec-Fetch-Site: cross-site", "Expect: 100-continue"),
        *("A\x00B: c", "Last-Event-ID: \x7f", "Range: bytes=9-1", "If-None-Match: \xff", "Connection: x"),
    ]
    path = random.choice(PATHS + LOOKS)
    method = "POST" if path in PATHS else "GET"
    return request(body(random), path, *random.choices(wrong, k=random.randint(1, 3)), method=method)


def written(random: Random) -> bytes:
    """Text of odd characters, which a model has to translate, or refuse."""
    odd = [*WORDS, *(chr(random.randrange(0x110000)) for _ in range(6))]
    text = "".join(random.choices(odd, k=random.randint(1, 12)))
    return request(json.dumps({"text": text, "beam_size": 1}).encode(), random.choice(PATHS[:2]))


FAMILIES: dict[str, Callable[[Random], bytes]] = {
    one.__name__: one for one in (noise, damaged, addressed, headed, written)
}


def answer_to(place: tuple[str, int], sent: bytes, silence: float) -> bytes:
    """What the server says; nothing if it hangs up. Raises `TimeoutError` if it does neither.

    After `silence` seconds without an answer the client closes its side, and the server drops the request.
    """
    with socket.create_connection(place, timeout=PATIENCE) as connection:
        received = b""
        try:
            connection.sendall(sent)
            while select.select([connection], [], [], silence)[0]:
                if not (piece := connection.recv(1 << 16)):
                    return received
                received += piece
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # it does not read on after what it has refused
        return received


def bombard(address: str, count: int, seed: int = 1) -> Iterator[tuple[str, bytes, bytes]]:
    """Send so many requests, many at a time; yields the family of each, the request, and the answer.

    Raises `AssertionError` if a good request among them is not answered as the first was.
    """
    parts = urlsplit(address)
    assert parts.hostname is not None
    assert parts.port is not None
    place = parts.hostname, parts.port
    good = partial(asked, address, "/api/translate", {"text": "Ba De"})
    expected = good()["tokens"]  # not its numbers: they depend on what is translated beside it

    def ask(number: int) -> tuple[str, bytes, bytes]:
        random = Random(seed * 1_000_003 + number)
        family = random.choice(list(FAMILIES))
        sent = FAMILIES[family](random)
        answer = answer_to(place, sent, PATIENCE if family == written.__name__ else SILENCE)
        if number % GOOD_EVERY == 0:
            assert good()["tokens"] == expected
        return family, sent, answer

    with ThreadPoolExecutor(CLIENTS) as pool:
        for begin in range(0, count, 1000):
            yield from pool.map(ask, range(begin, min(begin + 1000, count)))


def status_of(answer: bytes) -> str:
    """The status of an answer; `none` if there is none. The client may have been told to go on before it."""
    if answer.startswith(b"HTTP/1.1 100 "):
        answer = answer.partition(b"\r\n\r\n")[2]
    return answer.split(b" ", 2)[1].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "none"
