"""The API: what each address computes from the question that is posted to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from nmt.explanation import explain, read
from nmt.system.errors import UserError
from nmt.translator import Translator, most_characters
from nmt.web import answers
from nmt.web.guard import Refusal
from nmt.web.requests import ExplainRequest, ReadRequest, Request, TranslateRequest

Asked = TypeVar("Asked", bound=Request)
Models = Mapping[str, tuple[str, Translator]]  # by id: name and translator


@dataclass(frozen=True)
class Call(Generic[Asked]):
    """An address to which a request is posted. Requests whose `kind` is equal are computed together."""

    path: str
    request: type[Asked]
    kind: Callable[[Asked], Hashable]
    compute: Callable[[Translator, Sequence[Asked]], list[dict[str, Any]]]
    purpose: str
    explains: bool = True  # by a translator that is prepared for it


def translate(translator: Translator, requests: Sequence[TranslateRequest]) -> list[dict[str, Any]]:
    """Requests of one kind: all have the same settings, and either all or none have a prefix."""
    first = requests[0]
    found = translator.translate(
        [request.text for request in requests],
        beam_size=first.beam_size,
        length_penalty=first.length_penalty,
        prefix=[request.prefix for request in requests] if first.prefix else None,
    )
    return [
        answers.of_translation(one)
        | {"source_tokens": one.source_tokens, "attention": None if one.attention is None else one.attention.tolist()}
        for one in found
    ]


def explain_each(translator: Translator, requests: Sequence[ExplainRequest]) -> list[dict[str, Any]]:
    return [_explain(translator, request) for request in requests]


def _explain(translator: Translator, request: ExplainRequest) -> dict[str, Any]:
    found = explain(
        translator,
        request.text,
        beam_size=request.beam_size,
        length_penalty=request.length_penalty,
        prefix=request.prefix,
        forced=dict(request.forced),
    )
    return answers.of_explanation(translator, found)


def read_each(translator: Translator, requests: Sequence[ReadRequest]) -> list[dict[str, Any]]:
    pairs = [(request, *read(translator, request.text, request.target)) for request in requests]
    return [answers.of_reading(translator, request.text, tokens, steps) for request, tokens, steps in pairs]


CALLS: tuple[Call[Any], ...] = (
    Call(
        "/api/translate",
        TranslateRequest,
        lambda r: (r.beam_size, r.length_penalty, bool(r.prefix)),
        translate,
        "Translate a sentence: text, tokens, score and attention.",
        explains=False,
    ),
    Call(
        "/api/explain",
        ExplainRequest,
        lambda _: None,
        explain_each,
        "Translate a sentence and say how: each step's query, scores, weights, context and likeliest tokens, and the "
        "beam search as a tree.",
    ),
    Call(
        "/api/read",
        ReadRequest,
        lambda _: None,
        read_each,
        "The steps in which the model is made to write a given translation.",
    ),
)


def understood(call: Call[Asked], body: bytes, models: Models) -> tuple[Asked, Translator]:
    """The request in a body, and the translator that it names. Raises `Refusal` for one that cannot be answered."""
    try:
        request = call.request.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, "; ".join(_complaint(each) for each in error.errors()[:3])) from None
    if request.model not in models:
        raise Refusal(404, f"there is no model {request.model!r}: /api/models lists them")
    _, translator = models[request.model]
    limit = translator.search.max_source_length
    length = len(request.text)
    if length > most_characters(translator.search) or (count := len(translator.source.encode(request.text))) > limit:
        size = f"{length:,} characters" if length > most_characters(translator.search) else f"{count} tokens"
        raise Refusal(422, f"text: {size}, and the model reads at most {limit} tokens: shorten the sentence")
    return request, translator


def computed(call: Call[Asked], translator: Translator, requests: Sequence[Asked]) -> list[dict[str, Any]]:
    """The answers. Raises `Refusal` for what the translator refuses."""
    try:
        return call.compute(translator, requests)
    except UserError as error:
        raise Refusal(422, str(error)) from None


def computer(call: Call[Asked], translator: Translator) -> Callable[[Sequence[Asked]], list[dict[str, Any]]]:
    return partial(computed, call, translator)


def _complaint(error: Any) -> str:
    field = ".".join(str(part) for part in error["loc"])[:100]
    return f"{field}: {error['msg']}" if field else error["msg"]
