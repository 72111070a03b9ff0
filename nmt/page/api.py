"""The HTTP API: what is answered at each address. FastAPI makes the OpenAPI document (`GET /api`) of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from nmt.text.sentences import split_text
from nmt.translator import Translator

MOST_WORK = 2500  # tokens of a sentence by the beam
AT_ONCE = 64  # texts of one request in the queue, where others want to come, too
Models = Mapping[str, tuple[str, Translator]]  # by id: name and translator


class Served:
    """A model that answers, and its neighbours' index, if any."""

    def __init__(self, name: str, translator: Translator, index: Index | None = None) -> None:
        self.name, self.translator, self.index = name, translator, index
        self.source, self.search, self.languages = translator.source, translator.search, translator.languages
        self.splits = not translator.model.segment_ends if self.search.split is None else self.search.split
        self.described = serializers.of_model("", name, translator, indexed=index is not None)
        self.explaining = prepared(translator)
        self.takes_glossary = hasattr(translator, "protect")
        is_prepared = self.search.precision == "float32"
        self.searching = replace(translator, model=self.explaining.model) if is_prepared else translator


@dataclass(frozen=True)
class Server:
    """What all answers are computed from. `observers` are called with each translation, as it is answered."""

    models: dict[str, Served]
    queue: BatchQueue
    runs: RunEvents
    sets: TestSets
    observers: list[Callable[[Mapping[str, Any]], None]] = field(default_factory=list)
    question: type[schemas.TranslateRequest] = schemas.TranslateRequest

    def model(self, question: schemas.Question) -> tuple[Served, int]:
        """The model of a question, and what the answer costs: the sentence's tokens by the beam.

        Raises `Refusal` if there is none, if the sentence is too long for it, and if the answer costs too much.
        """
        if question.model not in self.models:
            raise Refusal(404, f"there is no model {question.model!r}: /api/models lists them")
        served = self.models[question.model]
        if getattr(question, "glossary", ()) and not served.takes_glossary:
            raise Refusal(422, "glossary: it needs nmt.constraints, which is not installed")
        limit = served.search.max_source_length
        splits = served.splits and isinstance(question, schemas.TranslateRequest)
        is_long = len(question.text) > most_characters(limit)
        parts = split_text(question.text, *served.languages).sentences if splits and not is_long else [question.text]
        lengths = [] if is_long else [len(served.source.encode(part)) for part in parts]
        if is_long or max(lengths) > limit:
            size = f"{max(lengths)} tokens" if lengths else f"{len(question.text):,} characters"
            raise Refusal(422, f"text: {size}, and the model reads at most {limit} tokens: shorten the sentence")
        count = sum(lengths)
        beam = (getattr(question, "beam_size", 1) or served.search.beam_size) if count else 1
        if count * beam > MOST_WORK:
            most = f"{count} tokens, and with a beam of {beam} at most {MOST_WORK // beam}"
            raise Refusal(422, f"text: {most}: shorten the sentence, or lower beam_size")
        return served, count * beam

    async def translate(self, questions: Sequence[schemas.TranslateRequest]) -> list[dict[str, Any]]:
        """The answers to questions of one text each. Raises as `model` and `BatchQueue.answer` do."""
        room, models = asyncio.Semaphore(AT_ONCE), [self.model(question) for question in questions]

        async def one(question: schemas.TranslateRequest, served: Served, cost: int) -> dict[str, Any]:
            async with room:
                kind = served, question.model_copy(update={"text": "", "prefix": bool(question.prefix)})
                compute = partial(_translate, served, self.queue.go_on)
                answer = await self.queue.answer(kind, compute, question, len(question.text), cost)
            for observe in self.observers:
                observe(answer)
            return answer

        return await asyncio.gather(*(one(question, *model) for question, model in zip(questions, models, strict=True)))

    async def while_connected(self, request: Request, answer: Coroutine[Any, Any, Any]) -> JSONResponse:
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


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Serving = Annotated[Server, Depends(_server)]
REFUSALS: Any = {n: {"model": schemas.Refused} for n in (400, 401, 403, 404, 408, 413, 415, 421, 422, 503)}


class Answer(JSONResponse):
    """JSON in which characters that steer a terminal, or turn the direction of text, are escaped."""

    def render(self, content: Any) -> bytes:
        return escape_controls(super().render(content).decode()).encode()


router = APIRouter(prefix="/api", responses=REFUSALS, default_response_class=Answer)


@router.get("/models", response_model=list[schemas.Model])
async def models(server: Serving) -> Any:
    """The models, with their ids."""
    return [one.described | {"id": number} for number, one in server.models.items()]


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


@router.post("/translate", response_model=schemas.Translated | list[schemas.Translated])
async def translate(server: Serving, request: Request, question: schemas.TranslateRequest) -> Any:
    """Translate a text, or a list of texts: text, tokens, score and attention of each."""
    texts = [question.text] if isinstance(question.text, str) else question.text

    async def answer() -> Any:
        answers = await server.translate([question.model_copy(update={"text": text}) for text in texts])
        return answers[0] if texts is not question.text else answers

    return await server.while_connected(request, answer())


@router.post("/explain", response_model=schemas.Explained)
async def explain_translation(server: Serving, request: Request, question: schemas.ExplainRequest) -> Any:
    """Translate a sentence and say how: each step's query, scores, weights, context and likeliest tokens, and the beam
    search as a tree.
    """
    served, cost = server.model(question)
    return await server.while_connected(request, server.queue.alone(_explain, server, served, question, cost=cost))


@router.post("/read", response_model=schemas.Reading)
async def read_translation(server: Serving, request: Request, question: schemas.ReadRequest) -> Any:
    """The steps in which the model is made to write a given translation."""
    return await server.while_connected(request, server.queue.alone(_read, server.model(question)[0], question))


@router.post("/neighbours", response_model=schemas.Neighbours)
async def nearest_neighbours(server: Serving, request: Request, question: schemas.NeighboursRequest) -> Any:
    """The words of training sentences in which the model's state is most like the one at a word here."""
    return await server.while_connected(request, server.queue.alone(_neighbours, server.model(question)[0], question))


def _translate(served: Served, go_on: GoOn, questions: Sequence[schemas.TranslateRequest], report: Report) -> None:
    """Answer questions with the same settings, of which either all or none have a prefix."""
    first = questions[0]

    def report_translation(position: int, translation: Translation) -> None:
        answer = serializers.of_checked(translation)
        if parts := translation.sentences:
            answer["sentences"] = [{"source": part.source} | serializers.of_checked(part) for part in parts]
        report(position, answer)

    more: dict[str, Any] = {"markup": True} if first.format == "html" else {}
    more |= {"glossary": dict(first.glossary)} if first.glossary else {}
    served.searching.translate(
        [str(question.text) for question in questions],
        n_best=first.n_best,
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
        glossary=question.glossary,
        watch=server.queue.go_on,
    )
    languages = {one.source.language for one in server.models.values()}
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
