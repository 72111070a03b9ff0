"""The API: what each address computes from the question that is posted to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from nmt.decoding.translation import Translation
from nmt.page import schemas, serializers
from nmt.page.batch_queue import Tell, one_by_one
from nmt.page.explanation import explain, prepared, read
from nmt.page.neighbours.index import Index, vector
from nmt.page.requests import ExplainRequest, NeighboursRequest, ReadRequest, Request, TranslateRequest
from nmt.page.security import Refusal
from nmt.page.worker import SearchWorker
from nmt.system.errors import UserError
from nmt.text.limits import most_characters
from nmt.translator import Translator

Asked = TypeVar("Asked", bound=Request)
Models = Mapping[str, tuple[str, Translator]]  # by id: name and translator


@dataclass(frozen=True)
class Served:
    """A model that is asked, and its neighbours' index, if any."""

    translator: Translator
    search: Callable[[Sequence[TranslateRequest], Tell], None]
    explaining: Translator  # the same laid out for explanations
    index: Index | None

    @classmethod
    def of(cls, translator: Translator, index: Index | None = None, *, apart: bool = False) -> Served:
        """With `apart`, a copy of this process searches."""
        explaining = prepared(translator)
        searching = explaining if translator.search.precision == "float32" else translator
        search = partial(_search, searching)
        return cls(translator, SearchWorker(search) if apart else search, explaining, index)


@dataclass(frozen=True)
class Call(Generic[Asked]):
    """An address to which a request is posted. Requests whose `kind` is equal are computed together."""

    path: str
    request: type[Asked]
    answer: type[schemas.Answer]
    kind: Callable[[Asked], Hashable]
    compute: Callable[[Served, Sequence[Asked], Tell], None]
    purpose: str


def _search(translator: Translator, requests: Sequence[TranslateRequest], tell: Tell) -> None:
    """Requests of one kind: all have the same settings, and either all or none have a prefix."""
    first = requests[0]
    translator.translate(
        [request.text for request in requests],
        beam_size=first.beam_size,
        length_penalty=first.length_penalty,
        prefix=[request.prefix for request in requests] if first.prefix else None,
        attention=first.attention,
        found=lambda place, translation: tell(place, _translated(translation)),
    )


def _translated(found: Translation) -> dict[str, Any]:
    attention = None if found.attention is None else found.attention.tolist()
    return serializers.of_translation(found) | {"source_tokens": found.source_tokens, "attention": attention}


def each(answer: Callable[[Served, Asked], dict[str, Any]]) -> Callable[[Served, Sequence[Asked], Tell], None]:
    """What answers one request after another."""
    return lambda served, requests, tell: one_by_one(partial(answer, served))(requests, tell)


def explained(served: Served, request: ExplainRequest) -> dict[str, Any]:
    found = explain(
        served.explaining,
        request.text,
        beam_size=request.beam_size,
        length_penalty=request.length_penalty,
        prefix=request.prefix,
        forced=dict(request.forced),
    )
    return serializers.of_explanation(served.explaining, found)


def reading(served: Served, request: ReadRequest) -> dict[str, Any]:
    tokens, steps = read(served.explaining, request.text, request.target)
    return serializers.of_reading(served.explaining, request.text, tokens, steps)


def neighbours(served: Served, request: NeighboursRequest) -> dict[str, Any]:
    if served.index is None:
        raise UserError(f"model {request.model} has no index: nmt index makes one")
    # By the translator that the index was made with, since other products round differently.
    own = vector(served.translator, request.text, request.target, request.side, request.place)
    found = served.index.nearest(request.side, own, request.count)
    return {"neighbours": [serializers.of_neighbour(served.translator, neighbour) for neighbour in found]}


CALLS: tuple[Call[Any], ...] = (
    Call(
        "/api/translate",
        TranslateRequest,
        schemas.Translated,
        lambda r: (r.beam_size, r.length_penalty, bool(r.prefix), r.attention),
        lambda served, requests, tell: served.search(requests, tell),
        "Translate a sentence: text, tokens, score and attention.",
    ),
    Call(
        "/api/explain",
        ExplainRequest,
        schemas.Explained,
        lambda _: None,
        each(explained),
        "Translate a sentence and say how: each step's query, scores, weights, context and likeliest tokens, and the "
        "beam search as a tree.",
    ),
    Call(
        "/api/read",
        ReadRequest,
        schemas.Reading,
        lambda _: None,
        each(reading),
        "The steps in which the model is made to write a given translation.",
    ),
    Call(
        "/api/neighbours",
        NeighboursRequest,
        schemas.Neighbours,
        lambda _: None,
        each(neighbours),
        "The words of training sentences in which the model's state is most like the one at a word here.",
    ),
)


def understood(call: Call[Asked], body: bytes, models: Mapping[str, Served]) -> tuple[Asked, Served]:
    """The request in a body, and the model that it names. Raises `Refusal` for one that cannot be answered."""
    try:
        request = call.request.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, "; ".join(_complaint(each) for each in error.errors()[:3])) from None
    if request.model not in models:
        raise Refusal(404, f"there is no model {request.model!r}: /api/models lists them")
    served = models[request.model]
    limit = served.translator.search.max_source_length
    length, longest = len(request.text), most_characters(limit)
    if length > longest or (count := len(served.translator.source.encode(request.text))) > limit:
        size = f"{length:,} characters" if length > longest else f"{count} tokens"
        raise Refusal(422, f"text: {size}, and the model reads at most {limit} tokens: shorten the sentence")
    return request, served


def compute(call: Call[Asked], served: Served, requests: Sequence[Asked], tell: Tell) -> None:
    """Tell the answers. Raises `Refusal` for what the translator refuses."""
    try:
        call.compute(served, requests, tell)
    except UserError as error:
        raise Refusal(422, str(error)) from None


def _complaint(error: Any) -> str:
    field = ".".join(str(part) for part in error["loc"])[:100]
    said = "there is no such field" if error["type"] == "extra_forbidden" else error["msg"]
    return f"{field}: {said}" if field else said
