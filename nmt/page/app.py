"""The server: its addresses, and what answers at each. `nmt.page.api` computes, in the thread of `BatchQueue`."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

import torch
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from nmt.checkpoint import contents
from nmt.checkpoint.address import model_name
from nmt.evaluation.alignment import WordKind
from nmt.evaluation.checkpoints import TestSet
from nmt.page import api, serializers
from nmt.page.batch_queue import BatchQueue, FullQueue
from nmt.page.document import document
from nmt.page.events import RunEvents
from nmt.page.neighbours import index
from nmt.page.neighbours.index import SUFFIX, Index
from nmt.page.runs import config_of
from nmt.page.security import Refusal, SecurityMiddleware
from nmt.page.test_sets import TestSets, load_set
from nmt.page.worker import SearchWorker
from nmt.system.device import choose_device
from nmt.system.process_pool import can_fork
from nmt.translator import Translator

STATIC = Path(__file__).parent / "static"
SETTINGS = "NMT_SERVE"  # the environment variable that tells each process of a server what to do

Responder = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Settings:
    """What a process of the server has to know."""

    checkpoints: Sequence[str]
    device: str = "auto"
    threads: int | None = None
    names: Sequence[str] = ()  # by which the server may be called, beside its addresses
    token: str | None = None
    runs: str = "checkpoints"
    sets: Sequence[tuple[str, str, str | None]] = ()  # source, reference and gold links of each
    alignment_words: WordKind = "spacy"


def make_app(
    models: api.Models,
    *,
    names: Sequence[str] = (),
    token: str | None = None,
    runs: Path = Path("checkpoints"),
    sets: Mapping[str, TestSet] | None = None,
    indexes: Mapping[str, Index] | None = None,
    apart: bool = False,
) -> SecurityMiddleware:
    """The application around some models, by their ids, the runs of training below a folder, and some test sets.

    The sets are for models of the first one's languages. `indexes` are those of neighbours, by the models' ids. With
    `apart`, copies of this process search.
    """
    work, live = BatchQueue(), RunEvents(runs)
    shown = TestSets(sets or {}, _alike(models), work)
    served = {
        number: api.Served.of(translator, (indexes or {}).get(number), apart=apart)
        for number, (_, translator) in models.items()
    }
    copies = [one.search for one in served.values() if isinstance(one.search, SearchWorker)]
    routes: list[Route | Mount] = [
        Route("/", lambda _: FileResponse(STATIC / "index.html")),
        Route("/api", lambda _: JSONResponse(document())),
        Route("/api/models", lambda _: JSONResponse(_listed(models, indexes or {}))),
        Route("/api/runs", _showing(lambda _: live.listed())),
        Route("/api/runs/events", _streaming(live)),
        Route("/api/runs/{id}", _showing(lambda request: _of_run(live, request.path_params["id"]))),
        Route("/api/sets", lambda _: JSONResponse(shown.listed())),
        Route("/api/sets/{id}", _answered(lambda request: shown.progress(request.path_params["id"]))),
        Route("/api/sets/{id}/sentences", _answered(lambda request: shown.sentences(request.path_params["id"]))),
        Route("/api/sets/{id}/sentences/{line}", _answered(lambda r: shown.attention(**_of_line(r)))),
        *(Route(call.path, _answering(call, served, work), methods=["POST"]) for call in api.CALLS),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    application = Starlette(
        routes=routes,
        lifespan=partial(_working, work, live, shown, copies),
        exception_handlers={HTTPException: _refused},
    )
    hosts = {"localhost", socket.gethostname().lower(), *(name.lower() for name in names)}
    return SecurityMiddleware(application, frozenset(hosts), token)


@asynccontextmanager
async def _working(
    work: BatchQueue, live: RunEvents, shown: TestSets, copies: Sequence[SearchWorker], _: Starlette
) -> AsyncIterator[None]:
    """What goes on while requests are answered."""
    for copy in copies:
        copy.begin()
    running = asyncio.create_task(work.run())
    with live.ending_with_the_process():
        yield
    await shown.close()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    for copy in copies:
        copy.end()


def application(settings: Settings) -> SecurityMiddleware:
    """What a process serves. Raises `UserError` for what is wrong with the files that the settings name."""
    device = choose_device(settings.device)
    loaded = {path: contents.load(path, device) for path in settings.checkpoints}
    names = Counter(model_name(path) for path in loaded)
    models, indexes = {}, {}
    for number, (path, one) in enumerate(loaded.items(), start=1):  # no request ever names a file
        translator = Translator.of({path: one})
        name = model_name(path)
        models[str(number)] = (name if names[name] == 1 else f"{name}/{Path(path).name}", translator)
        if (file := Path(path).with_suffix(SUFFIX)).exists():
            indexes[str(number)] = index.load(file, translator)
    (_, first), kind = models["1"], settings.alignment_words
    sets = {str(n): load_set(*files, first.languages, kind) for n, files in enumerate(settings.sets, start=1)}
    return make_app(
        models,
        names=settings.names,
        token=settings.token,
        runs=Path(settings.runs),
        sets=sets,
        indexes=indexes,
        apart=device.type == "cpu" and can_fork() and torch.get_num_threads() == 1,
    )


def from_environment() -> SecurityMiddleware:
    """The application of one of several processes, as the environment describes it."""
    settings = Settings(**json.loads(os.environ[SETTINGS]))
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    return application(settings)


def in_environment(settings: Settings) -> None:
    os.environ[SETTINGS] = json.dumps(asdict(settings))


def _alike(models: api.Models) -> api.Models:
    """The models of the first one's languages."""
    languages = [one.languages for _, one in models.values()]
    return {number: pair for (number, pair), own in zip(models.items(), languages, strict=True) if own == languages[0]}


def _listed(models: api.Models, indexes: Mapping[str, Index]) -> list[dict[str, Any]]:
    return [
        serializers.of_model(number, name, translator, indexed=number in indexes)
        for number, (name, translator) in models.items()
    ]


def _of_run(live: RunEvents, number: str) -> dict[str, Any]:
    run = live.run(number)
    return {"id": run.id, "name": run.name, "config": config_of(run)}


def _of_line(request: Request) -> dict[str, Any]:
    return {"number": request.path_params["id"], "place": request.path_params["line"]}


def _showing(look: Callable[[Request], Any]) -> Responder:
    """What shows a value that another thread has to read from files."""
    return _answered(lambda request: asyncio.to_thread(look, request))


def _answered(answer: Callable[[Request], Any]) -> Responder:
    """What answers with a value, at once or later, or says why it does not."""

    async def respond(request: Request) -> Response:
        try:
            found = answer(request)
            return JSONResponse(await found if isawaitable(found) else found)
        except Refusal as refusal:
            return _error(refusal)
        except FullQueue:
            return _error(Refusal(503, "too much is waiting: try again in a second", (("retry-after", "1"),)))

    return respond


def _streaming(live: RunEvents) -> Responder:
    async def stream(request: Request) -> Response:
        try:
            events = live.stream(request.query_params.getlist("run"))
            # Servers in between would wait for more before they hand anything on.
            return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        except Refusal as refusal:
            return _error(refusal)

    return stream


def _answering(call: api.Call[Any], models: Mapping[str, api.Served], work: BatchQueue) -> Responder:
    async def answer(request: Request) -> Any:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "send JSON, with Content-Type: application/json")
        asked, one = api.understood(call, await request.body(), models)
        kind = call.path, asked.model, call.kind(asked)
        computing = asyncio.ensure_future(work.answer(kind, partial(api.compute, call, one), asked, len(asked.text)))
        leaving = asyncio.ensure_future(request.receive())  # all that can still arrive is that the client has gone
        try:
            await asyncio.wait((computing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not computing.done():
                raise Refusal(400, "the client has gone")
            return computing.result()
        finally:
            leaving.cancel()
            computing.cancel()

    return _answered(answer)


def _refused(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: an address or a method that does not exist."""
    assert isinstance(error, HTTPException)
    headers = tuple((error.headers or {}).items())
    said = {404: "there is no such address: /api lists them", 405: f"this address does not accept {request.method}"}
    return _error(Refusal(error.status_code, said.get(error.status_code, error.detail), headers))


def _error(refusal: Refusal) -> Response:
    return JSONResponse({"error": refusal.text}, refusal.status, dict(refusal.headers))
