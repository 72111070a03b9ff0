"""The server: addresses, and what answers at them. All computing is done by `nmt.web.api` in the thread of `Work`."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from nmt.explanation import prepared
from nmt.translator import Translator
from nmt.web import answers, api
from nmt.web.guard import Guard, Refusal
from nmt.web.work import FullQueue, Work

STATIC = Path(__file__).parent / "static"
SETTINGS = "NMT_SERVE"  # the environment variable that tells each process of a server what to do


@dataclass(frozen=True)
class Settings:
    """What a process of the server has to know."""

    checkpoints: Sequence[str]
    device: str = "auto"
    threads: int | None = None
    names: Sequence[str] = ()  # by which the server may be called, beside its addresses
    token: str | None = None


def make_app(
    models: api.Models, names: Sequence[str] = (), token: str | None = None, work: Work | None = None
) -> Guard:
    """The application around some models, by their ids."""
    work = work or Work()
    explaining = {number: (name, prepared(translator)) for number, (name, translator) in models.items()}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        running = asyncio.create_task(work.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    routes: list[Route | Mount] = [
        Route("/", lambda _: FileResponse(STATIC / "index.html")),
        Route("/api", lambda _: JSONResponse(api.document())),
        Route("/api/models", lambda _: JSONResponse(_listed(models))),
        *(
            Route(call.path, _answering(call, explaining if call.explains else models, work), methods=["POST"])
            for call in api.CALLS
        ),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    application = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _refused})
    hosts = {"localhost", socket.gethostname().lower(), *(name.lower() for name in names)}
    return Guard(application, frozenset(hosts), token)


def from_environment() -> Guard:
    """The application of one of several processes, as the environment describes it."""
    settings = Settings(**json.loads(os.environ[SETTINGS]))
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    return make_app(load(settings.checkpoints, settings.device), settings.names, settings.token)


def in_environment(settings: Settings) -> None:
    os.environ[SETTINGS] = json.dumps(asdict(settings))


def load(checkpoints: Sequence[str], device: str = "auto") -> api.Models:
    """The models by their ids, 1, 2, and so on, each with the name of its run: no request ever names a file."""
    models = {}
    for number, path in enumerate(checkpoints, start=1):
        translator = Translator.load(path, device=device)
        models[str(number)] = (Path(path).resolve().parent.name, translator)
    return models


def _listed(models: api.Models) -> list[dict[str, Any]]:
    return [answers.of_model(number, name, translator) for number, (name, translator) in models.items()]


def _answering(call: api.Call[Any], models: api.Models, work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _error(Refusal(415, "send JSON, with Content-Type: application/json"))
        try:
            asked, translator = api.understood(call, await request.body(), models)
            kind = call.path, asked.model, call.kind(asked)
            return JSONResponse(await work.answer(kind, api.computer(call, translator), asked))
        except Refusal as refusal:
            return _error(refusal)
        except FullQueue:
            return _error(Refusal(503, "too much is waiting: try again in a second", (("retry-after", "1"),)))

    return answer


def _refused(_: Request, error: Exception) -> Response:
    """What Starlette itself refuses: an address or a method that does not exist."""
    assert isinstance(error, HTTPException)
    headers = tuple((error.headers or {}).items())
    return _error(Refusal(error.status_code, error.detail, headers))


def _error(refusal: Refusal) -> Response:
    return JSONResponse({"error": refusal.text}, refusal.status, dict(refusal.headers))
