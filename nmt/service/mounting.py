"""What `nmt serve` mounts: further addresses, and around all of them keys, request ids, logs, metrics and SIGHUP."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from uvicorn.supervisors import Multiprocess

from nmt.service import libretranslate, logs, metrics, openai
from nmt.service.forms import key_of
from nmt.service.keys import Keys, read_keys
from nmt.service.models import Reloader
from nmt.text.sentences import split_text

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
WITHOUT_OPTIONS = argparse.Namespace(keys=None, log_format=None, lazy=False)


def mount(application: FastAPI, secured: Any, options: argparse.Namespace | None) -> Application:
    """The page's application with what this add-on answers, and with its middleware around `secured`."""
    options = options or WITHOUT_OPTIONS
    server = application.state.server
    application.state.needs_key = secured.token is not None
    for module in (libretranslate, openai, metrics):
        application.include_router(module.router)
    server.observers.append(metrics.observe_answer)
    keys = Keys({} if options.keys is None else read_keys(options.keys))
    secured.admits, secured.forms = Gate(secured.token, keys).admits, libretranslate.ADDRESSES
    logs.configure(options.log_format)
    return Observed(secured, server, Reloader(server, options, keys), options.log_format)


class Gate:
    """Who is let in without the page's token: everybody to `/health`, and requests with a key."""

    def __init__(self, token: str | None, keys: Keys) -> None:
        self._token, self._keys = token, keys

    def admits(self, scope: Message, body: bytes) -> bool:
        """Whether a request is let in. Raises `HTTPException`: 429 above a key's limit, 403 as LibreTranslate does."""
        if scope["path"] == "/health":
            return True
        if self._token is None:
            return False
        is_libre = scope["path"] in libretranslate.ADDRESSES
        key = key_of(scope, body if is_libre else b"")
        if key is None:
            return False
        if hmac.compare_digest(key.encode("utf-8", "replace"), self._token.encode()):
            return True
        seconds = self._keys.seconds_to_wait(key)
        if seconds:
            text = f"too many requests for this key: try again in {seconds} seconds"
            raise HTTPException(429, text, {"retry-after": str(seconds)})
        if seconds is None and is_libre:
            raise HTTPException(403, "Invalid API key")
        return seconds is not None


class Observed:
    """The outermost ASGI application: a request's id, its log line and metrics, and errors in the form of each API."""

    def __init__(self, application: Application, server: Any, reloader: Reloader, log_format: str | None) -> None:
        self._application, self._server, self._reloader = application, server, reloader
        self._log_format = log_format
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                self._begin()
            await self._application(scope, receive, send)
            return
        number = logs.request_id(Headers(scope=scope).get("x-request-id"))
        logs.REQUEST_ID.set(number)
        begun, status = time.perf_counter(), 500

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = number
                status = message["status"]
            await send(message)

        try:
            await self._application(scope, receive, in_form_of(scope["path"], send_observed))
        finally:
            self._observe(scope, status, time.perf_counter() - begun)

    def _observe(self, scope: Message, status: int, seconds: float) -> None:
        other = scope["path"] if scope["path"] in libretranslate.ADDRESSES else "other"  # refused before it is routed
        address = str(getattr(scope.get("route"), "path", other))  # with the names of parameters, not their values
        metrics.REQUESTS.labels(address, status).inc()
        if not address.endswith("/events"):  # which last as long as somebody looks
            metrics.SECONDS.labels(address).observe(seconds)
        metrics.measure(self._server)
        if self._log_format is not None:
            fields = {"method": scope["method"], "path": scope["path"][:200], "status": status}
            fields |= {"ms": round(1000 * seconds, 1), "client": (scope.get("client") or [None])[0]}
            logs.LOG.info("request", extra={"fields": fields})

    def _begin(self) -> None:
        """What the process does beside answering: it loads models again at SIGHUP."""
        logs.configure(self._log_format)  # uvicorn has set up its loggers now
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, self._load_rules)
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
            loop.add_signal_handler(signal.SIGHUP, self.reload)

    def _load_rules(self) -> None:
        """Load the rules that split texts into sentences, which takes a second, before a request waits for them."""
        for served in self._server.models.values():
            if served.splits:
                split_text("A b. C d.", *served.languages)

    def reload(self) -> None:
        """Begin to load again what has changed."""
        task = asyncio.ensure_future(self._reloader.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Supervisor(Multiprocess):
    """Several workers, each of which loads its models again at SIGHUP; uvicorn's would start new ones."""

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGHUP)


def in_form_of(path: str, send: Send) -> Send:
    """What sends answers of an address, with errors as its API has them. The page's own errors are as they are."""
    if path not in libretranslate.ADDRESSES and not path.startswith(openai.PREFIX):
        return send
    start: Message | None = None

    async def send_in_form(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and message["status"] >= 400:
            start = message
        elif start is None:
            await send(message)
        else:
            status, body = _error(path, start["status"], message.get("body", b""))
            headers = MutableHeaders(raw=[pair for pair in start["headers"] if pair[0] != b"content-length"])
            headers["content-type"], headers["content-length"] = "application/json", str(len(body))
            begin, start = {**start, "status": status, "headers": headers.raw}, None
            await send(begin)
            await send({"type": "http.response.body", "body": body})

    return send_in_form


def _error(path: str, status: int, body: bytes) -> tuple[int, bytes]:
    """Status and body of an error: LibreTranslate and OpenAI say 400 where nmt says that a field is wrong."""
    try:
        message = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        message = "the server failed to answer: see its log"
    if path.startswith(openai.PREFIX):
        message = "Incorrect API key: ask who runs this server for one" if status == 401 else message
        status = 400 if status == 422 else status
        return status, json.dumps(openai.error_body(status, message)).encode()
    if status == 401:
        return 400, json.dumps({"error": "Please contact the server operator to get an API key"}).encode()
    return 400 if status == 422 else status, json.dumps({"error": message}).encode()
