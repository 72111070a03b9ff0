"""The HTTP API: what is answered at each address. FastAPI makes the OpenAPI document (`GET /api`) of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from nmt import addons
from nmt.decoding.translation import Translation
from nmt.page import schemas, serializers
from nmt.page.batch_queue import BatchQueue, GoOn, Report
from nmt.page.events import RunEvents
from nmt.page.explanation import explain, prepared, read
from nmt.page.neighbours.index import Index, vector
from nmt.page.runs import config_of
from nmt.page.security import Refusal
from nmt.page.test_sets import TestSets
from nmt.system.errors import UserError, escape_controls
from nmt.text.language import identifiable, likeliest_language
from nmt.text.limits import most_characters
from nmt.translator import Translator

MOST_WORK = 2500  # tokens of a sentence by the beam
Models = Mapping[str, tuple[str, Translator]]  # by id: name and translator


class Served:
    """A model that answers, and its neighbours' index, if any."""

    def __init__(self, name: str, translator: Translator, index: Index | None) -> None:
        self.name, self.translator, self.index = name, translator, index
        self.explaining = prepared(translator)
        is_prepared = translator.search.precision == "float32"
        self.searching = replace(translator, model=self.explaining.model) if is_prepared else translator


@dataclass(frozen=True)
class Server:
    """What all answers are computed from."""

    models: Mapping[str, Served]
    queue: BatchQueue
    runs: RunEvents
    sets: TestSets

    def model(self, question: schemas.Question) -> tuple[Served, int]:
        """The model of a question, and what the answer costs: the sentence's tokens by the beam.

        Raises `Refusal` if there is none, if the sentence is too long for it, and if the answer costs too much.
        """
        if question.model not in self.models:
            raise Refusal(404, f"there is no model {question.model!r}: /api/models lists them")
        served = self.models[question.model]
        limit = served.translator.search.max_source_length
        length, longest = len(question.text), most_characters(limit)
        if length > longest or (count := len(served.translator.source.encode(question.text))) > limit:
            size = f"{length:,} characters" if length > longest else f"{count} tokens"
            raise Refusal(422, f"text: {size}, and the model reads at most {limit} tokens: shorten the sentence")
        beam = (getattr(question, "beam_size", 1) or served.translator.search.beam_size) if count else 1
        if count * beam > MOST_WORK:
            most = f"{count} tokens, and with a beam of {beam} at most {MOST_WORK // beam}"
            raise Refusal(422, f"text: {most}: shorten the sentence, or lower beam_size")
        return served, count * beam


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Serving = Annotated[Server, Depends(_server)]
REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Refused} for code in (400, 401, 403, 404, 408, 413, 415, 421, 422, 503)
}


class Answer(JSONResponse):
    """JSON in which characters that steer a terminal, or turn the direction of text, are escaped."""

    def render(self, content: Any) -> bytes:
        return escape_controls(super().render(content).decode()).encode()


router = APIRouter(prefix="/api", responses=REFUSALS, default_response_class=Answer)


@router.get("/models", response_model=list[schemas.Model])
async def models(server: Serving) -> Any:
    """The models, with their ids."""
    return [
        serializers.of_model(number, one.name, one.translator, indexed=one.index is not None)
        for number, one in server.models.items()
    ]


@router.get("/runs", response_model=list[schemas.Run])
def runs(server: Serving) -> Any:
    """The runs of training, with their ids, those that measured last first."""
    return server.runs.listed()


@router.get("/runs/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def run_events(server: Serving, run: Annotated[Sequence[str], Query()] = ()) -> StreamingResponse:
    """Server-sent events: `runs`, the list of all runs, when it changes; and `metrics`, the lines of the selected runs'
    metrics.jsonl as they are written. With `begins` they replace what came before.
    """
    # Servers in between would wait for more before they hand anything on.
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(server.runs.stream(run), media_type="text/event-stream", headers=headers)


@router.get("/runs/{id}", response_model=schemas.RunSettings)
def run_settings(server: Serving, id: str) -> Any:
    """A run's settings by their full names."""
    run = server.runs.run(id)
    return {"id": run.id, "name": run.name, "config": config_of(run)}


@router.get("/sets", response_model=list[schemas.Set])
async def sets(server: Serving) -> Any:
    """The test sets, with their ids."""
    return server.sets.listed()


@router.get("/sets/{id}", response_model=schemas.SetProgress)
async def set_progress(server: Serving, id: str) -> Any:
    """How far each model is with a test set, and the scores of those that are done."""
    return server.sets.progress(id)


@router.get("/sets/{id}/sentences", response_model=schemas.SetSentences)
async def set_sentences(server: Serving, id: str) -> Any:
    """A set's sentences, with the translations of the models that are done."""
    return server.sets.sentences(id)


@router.get("/sets/{id}/sentences/{line}", response_model=schemas.SetSentence)
async def set_sentence(server: Serving, id: str, line: int) -> Any:
    """Of a sentence, from 0: its words, its gold links, and each model's attention as it writes the reference."""
    return await server.sets.attention(id, line)


@router.post("/translate", response_model=schemas.Translated)
async def translate(server: Serving, request: Request, question: schemas.TranslateRequest) -> Any:
    """Translate a sentence: text, tokens, score and attention."""
    settings = question.beam_size, question.length_penalty, bool(question.prefix), question.attention, question.format
    served, cost = server.model(question)
    compute = partial(_translate, served.searching, server.queue.go_on)
    answer = server.queue.answer((question.model, settings), compute, question, len(question.text), cost)
    return await _while_connected(request, answer)


@router.post("/explain", response_model=schemas.Explained)
async def explain_translation(server: Serving, request: Request, question: schemas.ExplainRequest) -> Any:
    """Translate a sentence and say how: each step's query, scores, weights, context and likeliest tokens, and the beam
    search as a tree.
    """
    served, cost = server.model(question)
    answer = server.queue.alone(_explain, server, served, question, cost=cost)
    return await _while_connected(request, answer)


@router.post("/read", response_model=schemas.Reading)
async def read_translation(server: Serving, request: Request, question: schemas.ReadRequest) -> Any:
    """The steps in which the model is made to write a given translation."""
    return await _while_connected(request, server.queue.alone(_read, server.model(question)[0], question))


@router.post("/neighbours", response_model=schemas.Neighbours)
async def nearest_neighbours(server: Serving, request: Request, question: schemas.NeighboursRequest) -> Any:
    """The words of training sentences in which the model's state is most like the one at a word here."""
    return await _while_connected(request, server.queue.alone(_neighbours, server.model(question)[0], question))


async def _while_connected(request: Request, answer: Coroutine[Any, Any, Any]) -> JSONResponse:
    """The answer, unless the client goes before it is there. It needs no check by FastAPI."""
    computing = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(request.receive())  # all that can still arrive is that the client has gone
    try:
        await asyncio.wait((computing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not computing.done():
            raise Refusal(400, "the client has gone")
        return Answer(computing.result())
    finally:
        leaving.cancel()
        computing.cancel()


def _translate(
    translator: Translator, go_on: GoOn, questions: Sequence[schemas.TranslateRequest], report: Report
) -> None:
    """Answer questions with the same settings, of which either all or none have a prefix."""
    first = questions[0]

    def report_translation(position: int, translation: Translation) -> None:
        answer = serializers.of_checked(translation)
        if parts := translation.sentences:
            answer["sentences"] = [{"source": part.source} | serializers.of_checked(part) for part in parts]
        report(position, answer)

    more: dict[str, Any] = {"markup": True} if first.format == "html" else {}
    translator.translate(
        [question.text for question in questions],
        beam_size=first.beam_size,
        length_penalty=first.length_penalty,
        prefix=[question.prefix for question in questions] if first.prefix else None,
        attention=first.attention,
        watch=go_on,
        found=report_translation,
        **more,
    )


def _explain(server: Server, served: Served, question: schemas.ExplainRequest) -> dict[str, Any]:
    explanation = explain(
        served.explaining,
        question.text,
        beam_size=question.beam_size,
        length_penalty=question.length_penalty,
        prefix=question.prefix,
        forced=dict(question.forced),
        watch=server.queue.go_on,
    )
    languages = {one.translator.source.language for one in server.models.values()}
    guess = likeliest_language(question.text, languages) if len(languages) > 1 else None
    if guess and likeliest_language(question.text, identifiable()) not in (guess, None):
        guess = None  # it is clearly in a language that no model here reads
    room, answer = addons.offered("missing_words"), serializers.of_explanation(served.explaining, explanation)
    return answer | {"language": guess} | (room.explained(served.explaining, explanation.translation) if room else {})


def _read(served: Served, question: schemas.ReadRequest) -> dict[str, Any]:
    tokens, steps = read(served.explaining, question.text, question.target)
    return serializers.of_reading(served.explaining, question.text, tokens, steps)


def _neighbours(served: Served, question: schemas.NeighboursRequest) -> dict[str, Any]:
    if served.index is None:
        raise UserError(f"model {question.model} has no index: nmt index makes one")
    # By the translator that the index was made with, since other products round differently.
    state = vector(served.translator, question.text, question.target, question.side, question.place)
    nearest = served.index.nearest(question.side, state, question.count)
    return {"neighbours": [serializers.of_neighbour(served.translator, neighbour) for neighbour in nearest]}
