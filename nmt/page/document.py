"""The OpenAPI document, which describes all that the server answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from nmt import __version__
from nmt.page import schemas
from nmt.page.api import CALLS
from nmt.page.security import LARGEST_BODY


@dataclass(frozen=True)
class Look:
    """An address that is only read.

    `answer` is what its JSON looks like, or each item of a list if there are `several`; None for a stream. `query` are
    names of parameters that may be repeated.
    """

    path: str
    purpose: str
    answer: type[schemas.Answer] | None
    several: bool = False
    query: tuple[str, ...] = ()


LOOKS = (
    Look("/api/models", "The models, with their ids.", schemas.Model, several=True),
    Look(
        "/api/runs", "The runs of training, with their ids, those that measured last first.", schemas.Run, several=True
    ),
    Look("/api/runs/{id}", "A run's settings by their full names.", schemas.RunSettings),
    Look("/api/sets", "The test sets, with their ids.", schemas.Set, several=True),
    Look(
        "/api/sets/{id}",
        "How far each model is with a test set, and the scores of those that are done.",
        schemas.SetProgress,
    ),
    Look(
        "/api/sets/{id}/sentences",
        "A set's sentences, with the translations of the models that are done.",
        schemas.SetSentences,
    ),
    Look(
        "/api/sets/{id}/sentences/{line}",
        "Of a sentence, from 0: its words, its gold links, and each model's attention as it writes the reference.",
        schemas.SetSentence,
    ),
    Look(
        "/api/runs/events",
        "Server-sent events: `runs`, the list of all runs, when it changes; and `metrics`, the lines of the chosen "
        "runs' metrics.jsonl as they are written. With `begins` they replace what came before.",
        None,
        query=("run",),
    ),
)
REFERENCE = "#/components/schemas/{model}"


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {look.path: {"get": _of_look(look)} for look in LOOKS}
    components = _described(schemas.Refused, *(look.answer for look in LOOKS if look.answer))
    for call in CALLS:
        components |= _described(call.request, call.answer)
        content = {"application/json": {"schema": _reference(call.request)}}
        responses = {"200": _response("The answer.", _reference(call.answer))} | _refusals(*_REFUSALS)
        paths[call.path] = {
            "post": {
                "summary": call.purpose,
                "requestBody": {"required": True, "content": content},
                "responses": responses,
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "nmt", "version": __version__, "description": "What the page of `nmt serve` asks, too."},
        "paths": paths,
        "components": {"schemas": components},
    }


def _of_look(look: Look) -> dict[str, Any]:
    in_path = [part[1:-1] for part in look.path.split("/") if part.startswith("{")]
    one, several = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    kinds = {"line": {"type": "integer", "minimum": 0}}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": kinds.get(name, one)} for name in in_path
    ]
    parameters += [{"name": name, "in": "query", "schema": several} for name in look.query]
    refusals = _refusals("401", "403", "421", *(("404", "422", "503") if parameters else ()))
    if look.answer is None:
        answer = _response("The answer.", {"type": "string"}, "text/event-stream")
    else:
        own = _reference(look.answer)
        answer = _response("The answer.", {"type": "array", "items": own} if look.several else own)
    return {
        "summary": look.purpose,
        "parameters": parameters,
        "responses": {"200": answer} | refusals,
    }


def _described(*models: type[BaseModel]) -> dict[str, Any]:
    """The schemas of some models by their names, with those of the models in their fields."""
    found: dict[str, Any] = {}
    for model in models:
        schema = model.model_json_schema(ref_template=REFERENCE)
        found |= schema.pop("$defs", {}) | {model.__name__: schema}
    return found


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}


def _refusals(*codes: str) -> dict[str, Any]:
    return {code: _response(_REFUSALS[code], _reference(schemas.Refused)) for code in codes}


_REFUSALS = {
    "400": "The request is not complete.",
    "401": "A token is needed.",
    "403": "A page of another origin may not ask.",
    "404": "There is nothing of this id.",
    "408": "The body did not arrive in time.",
    "413": f"The body has more than {LARGEST_BODY} bytes.",
    "415": "The body is not application/json.",
    "421": "The server is not known by the name that the request calls it.",
    "422": "A field is wrong; the text says which.",
    "503": "Too much is waiting; Retry-After says when to come back, in seconds.",
}


def _response(text: str, schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": schema}}}
