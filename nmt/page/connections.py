"""How connections are kept: how many, and how long the server waits for a client that does not read or write on."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from types import FrameType
from typing import Any

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 1000  # connections; who comes then is answered with 503, or disconnected where there are no files for that
BACKLOG = 64  # connections that wait; asyncio accepts as many at once, and tries as often where it cannot
FILES = 40  # that are not connections
IDLE = 15  # seconds for which a connection without a request is kept
SLOW_REQUEST = 10.0  # seconds in which the head of a request has to arrive
SLOW_READER = 30.0  # seconds for which an answer may wait until its client reads on
EVENTS = "/api/runs/events"


def _room() -> int:
    """How many connections this process may have open: fewer than the files that it may."""
    if sys.platform == "win32":
        return 2 * MOST
    import resource

    return max(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES)


_ROOM = _room()  # now: later there may be no file left to find it out


class Patient(H11Protocol):
    """HTTP that hangs up on clients who would otherwise keep a connection for ever."""

    _request: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _ROOM:
            transport.abort()
        self._await_request(SLOW_REQUEST)

    def on_response_complete(self) -> None:
        self._await_request(IDLE + SLOW_REQUEST)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer = self.loop.call_later(SLOW_READER, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._answer)

    def shutdown(self) -> None:
        """As the server ends: what it has begun is finished, but for events, which never end by themselves."""
        super().shutdown()
        if self.cycle is not None and self.scope["path"] == EVENTS:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._request)
        _cancel(self._answer)
        super().connection_lost(exc)

    def _await_request(self, seconds: float) -> None:
        _cancel(self._request)
        self._request = self.loop.call_later(seconds, self._hang_up)

    def _hang_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # otherwise a request has arrived
            self.transport.close()


class NoMoreFiles:
    """What asyncio says of connections for which there is no file, once a second instead of for each."""

    _silent_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
            if "_start_serving" not in context["message"]:  # a try after the socket was closed
                loop.default_exception_handler(context)
        elif loop.time() >= self._silent_until:
            self._silent_until = loop.time() + 1
            text = "too many connections for the files that may be open: some wait (ulimit -n raises the limit)"
            logging.getLogger("uvicorn.error").warning(text)


class InterruptibleServer(Server):
    """A server that finishes its requests before it stops, unless it is interrupted a second time."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            print("Stopped.", file=sys.stderr, flush=True)
            os._exit(130)  # what is computed in another thread cannot be interrupted
        super().handle_exit(sig, frame)
        if self.server_state.tasks:
            print("\nFinishing the requests that are running. Press Ctrl-C again to stop immediately.", file=sys.stderr)


def server_config(application: Any, workers: int = 1) -> Config:
    """The settings of uvicorn. For several workers, `application` makes an ASGI application in each."""
    return Config(
        application,
        factory=workers > 1,
        workers=workers,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=30,
        timeout_worker_healthcheck=120,  # a worker that still imports does not answer
        limit_concurrency=MOST,
        backlog=BACKLOG,
        http=Patient,
        ws="none",
        h11_max_incomplete_event_size=16 * 1024,
    )


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
