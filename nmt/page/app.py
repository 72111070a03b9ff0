"""The server: it loads models, runs and test sets, and puts `nmt.page.api` and the page's files together."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from nmt import __version__, addons
from nmt.checkpoint import contents
from nmt.checkpoint.address import model_name
from nmt.commands.options import set_threads
from nmt.evaluation.checkpoints import TestSet
from nmt.page import api
from nmt.page.batch_queue import BatchQueue, FullQueue
from nmt.page.connections import NoMoreFiles
from nmt.page.events import RunEvents
from nmt.page.neighbours import index
from nmt.page.neighbours.index import SUFFIX, Index
from nmt.page.security import Application, Refusal, SecurityMiddleware, refused
from nmt.page.test_sets import TestSets, load_set
from nmt.system.device import choose_device
from nmt.system.errors import UserError
from nmt.translator import Translator

STATIC = Path(__file__).parent / "static"


def load_app(options: argparse.Namespace) -> Application:
    """Load what the options of `nmt serve` name. Raises `UserError` for what is wrong with the files."""
    set_threads(options.threads)
    device = choose_device(options.device)
    loaded = {path: contents.load(path, device) for path in options.checkpoints}
    names = Counter(map(model_name, loaded))
    models, indexes = {}, {}
    for number, (path, checkpoint) in enumerate(loaded.items(), start=1):  # no request ever names a file
        translator, name = Translator.of({path: checkpoint}), model_name(path)
        models[str(number)] = (name if names[name] == 1 else f"{name}/{Path(path).name}", translator)
        if (file := Path(path).with_suffix(SUFFIX)).exists():
            indexes[str(number)] = index.load(file, translator)
    languages, sets = models["1"][1].languages, {}
    for number, (pair, links) in enumerate(zip_longest(options.test_set, options.alignment), start=1):
        sets[str(number)] = load_set(pair[0], pair[1], links, languages, options.alignment_words)
    more = {"token": options.token, "runs": options.runs, "options": options}
    return make_app(models, names=[options.host, *options.name], sets=sets, indexes=indexes, **more)


def make_app(
    models: api.Models,
    *,
    names: Sequence[str] = (),
    token: str | None = None,
    runs: Path = Path("checkpoints"),
    sets: Mapping[str, TestSet] | None = None,
    indexes: Mapping[str, Index] | None = None,
    options: argparse.Namespace | None = None,
) -> Application:
    """The application around some models, by their ids, the runs of training below a folder, and some test sets.

    The sets are for models of the first one's languages. `indexes` are those of neighbours, by the models' ids;
    `options` are those of the add-on that offers `service`.
    """
    queue = BatchQueue()
    served = {number: api.Served(*model, (indexes or {}).get(number)) for number, model in models.items()}
    languages = [translator.languages for _, translator in models.values()][:1]
    alike = {number: model for number, model in models.items() if sets and model[1].languages in languages}
    server = api.Server(served, queue, RunEvents(runs), TestSets(sets or {}, alike, queue))
    application = FastAPI(
        title="nmt",
        version=__version__,
        description="The API of `nmt serve`, which its page uses, too.",
        openapi_url="/api",
        docs_url=None,
        redoc_url=None,
        lifespan=_background_work,
        exception_handlers=dict.fromkeys((UserError, FullQueue, RequestValidationError, HTTPException), _refusal),
    )
    application.state.server = server
    application.include_router(api.router)
    application.get("/", include_in_schema=False)(lambda: FileResponse(STATIC / "index.html"))
    application.mount("/static", StaticFiles(directory=STATIC))
    hosts = {"localhost", socket.gethostname().lower(), *(name.lower() for name in names)}
    secured = SecurityMiddleware(application, frozenset(hosts), token)
    return secured if (service := addons.offered("service")) is None else service.mount(application, secured, options)


@asynccontextmanager
async def _background_work(application: FastAPI) -> AsyncIterator[None]:
    """What goes on while requests are answered."""
    server: api.Server = application.state.server
    asyncio.get_running_loop().set_exception_handler(NoMoreFiles())
    running = asyncio.create_task(server.queue.run())
    yield
    await server.sets.close()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def _refusal(request: Request, error: Exception) -> Response:
    """The answer to a request that is not computed, or that fails."""
    match error:
        case UserError():
            error = Refusal(422, str(error))
        case FullQueue():
            error = Refusal(503, "too much is waiting: try again in a second", {"retry-after": "1"})
        case RequestValidationError():
            status = 404 if error.errors()[0]["loc"][0] == "path" else 422
            error = Refusal(status, "; ".join(map(_complaint, error.errors()[:3])))
        case HTTPException():
            status, text = {  # FastAPI's own
                "There was an error parsing the body": (422, "the body is not JSON"),
                "Not Found": (404, "there is no such address: /api lists them"),
                "Method Not Allowed": (405, f"this address does not accept {request.method}"),
            }.get(error.detail, (error.status_code, error.detail))
            error = Refusal(status, text, error.headers)
    assert isinstance(error, HTTPException)
    return refused(error)


def _complaint(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return "the body is not JSON"
    field = ".".join(map(str, error["loc"][1:]))[:100] or "the body"
    message = "there is no such field" if error["type"] == "extra_forbidden" else error["msg"]
    return f"{field}: {message}"
