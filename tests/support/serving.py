"""The server of `nmt serve` in a thread of the test."""

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import uvicorn

from nmt.page.api import Models
from nmt.page.app import make_app
from nmt.page.connections import server_config


@contextmanager
def running(application: Any) -> Iterator[str]:
    """The address of a server for an ASGI application."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(server_config(application))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


def served(models: Models, **options: Any) -> AbstractContextManager[str]:
    """The same of the page for some models; `options` are those of `make_app`."""
    return running(make_app(models, **options))


def asked(address: str, path: str, question: dict[str, object] | None = None) -> Any:
    """The server's answer, as plain values."""
    data = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(
        address.partition("?")[0].rstrip("/") + path, data, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
