"""The addresses of LibreTranslate (libretranslate.com/docs), so that its clients can use `nmt serve`.

`model`, an id of `/api/models`, is a further field of `/translate`: without it the first model of a pair translates.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from nmt.service.detection import detect
from nmt.service.forms import fields_of
from nmt.service.translating import MOST_ALTERNATIVES, Job, languages_of, pairs, quoted, translate_texts
from nmt.text.language import base_language, language_name

ADDRESSES = ("/translate", "/detect", "/languages", "/frontend/settings", "/translate_file", "/suggest")
MOST_TEXTS = 256
router = APIRouter(include_in_schema=False)


@router.api_route("/health", methods=["GET", "HEAD"])
async def health() -> Any:
    """Whether the server answers."""
    return {"status": "ok"}


@router.get("/languages")
async def languages(request: Request) -> Any:
    """The source languages with their target languages."""
    available = pairs(request.app.state.server)
    sources = dict.fromkeys(source for source, _ in available)
    return [
        {
            "code": code,
            "name": language_name(code),
            "targets": [target for source, target in available if source == code],
        }
        for code in sources
    ]


@router.get("/frontend/settings")
async def settings(request: Request) -> Any:
    """What a page of LibreTranslate's needs to know."""
    server, needs_key = request.app.state.server, request.app.state.needs_key
    source, target = next(iter(pairs(server)), ("", ""))
    return {
        "apiKeys": needs_key,
        "charLimit": -1,
        "filesTranslation": False,
        "frontendTimeout": 500,
        "keyRequired": needs_key,
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
        "suggestions": False,
        "supportedFilesFormat": [],
    }


@router.post("/translate_file")
async def translate_file() -> Any:
    raise HTTPException(403, "Files Translation are disabled on this server.")


@router.post("/suggest")
async def suggest() -> Any:
    raise HTTPException(403, "Suggestions are disabled on this server.")


@router.post("/detect")
async def detect_language(request: Request) -> Any:
    """The languages that a text may be in, likeliest first."""
    texts = _texts(fields_of(request.scope, await request.body()))
    likely = detect(" ".join(texts), languages_of(request.app.state.server))
    return [{"confidence": confidence, "language": language} for language, confidence in likely if confidence >= 1]


@router.post("/translate")
async def translate(request: Request) -> Response:
    """Translate a text, or several: `q` is a text or an array, and so are the answer's fields."""
    fields = fields_of(request.scope, await request.body())
    server, texts = request.app.state.server, _texts(fields)
    target, format = _language(server, fields, "target"), fields.get("format", "text")
    if format not in ("text", "html"):
        raise HTTPException(400, f"{quoted(format)} format is not supported")
    alternatives, is_auto = _alternatives(fields), fields.get("source") == "auto"
    if is_auto:
        detected = [next(iter(detect(text, languages_of(server))), ("en", 0.0)) for text in texts]
    else:
        detected = [(_language(server, fields, "source"), 100.0)] * len(texts)
    jobs = [
        Job(text, _model(server, source, target, fields.get("model")))
        for text, (source, _) in zip(texts, detected, strict=True)
    ]
    is_list = isinstance(fields["q"], list)

    async def answer() -> dict[str, Any]:
        translated = await translate_texts(server, jobs, format, alternatives)
        columns: dict[str, list[Any]] = {"translatedText": [one.text for one in translated]}
        if is_auto:
            columns["detectedLanguage"] = [{"confidence": c, "language": language} for language, c in detected]
        if alternatives:
            columns["alternatives"] = [one.alternatives for one in translated]
        return {name: values if is_list else values[0] for name, values in columns.items()}

    response: Response = await server.while_connected(request, answer())
    return response


def _texts(fields: dict[str, Any]) -> list[str]:
    q = fields.get("q")
    if q is None:
        raise HTTPException(400, "Invalid request: missing q parameter")
    texts = q if isinstance(q, list) else [q]
    if not all(isinstance(text, str) for text in texts):
        raise HTTPException(400, "Invalid request: q is not a text or an array of texts")
    if not 0 < len(texts) <= MOST_TEXTS:
        raise HTTPException(400, f"Invalid request: q has {len(texts)} texts: send 1 to {MOST_TEXTS}")
    return texts


def _language(server: Any, fields: dict[str, Any], name: str) -> str:
    """The language of a field: one that models have, with or without its region."""
    code = fields.get(name)
    if not isinstance(code, str) or not code:
        raise HTTPException(400, f"Invalid request: missing {name} parameter")
    available = languages_of(server)
    near = [language for language in available if code == language] or [
        language for language in available if base_language(language) == base_language(code)
    ]
    if not near:
        raise HTTPException(400, f"{quoted(code)} is not supported")
    return near[0]


def _alternatives(fields: dict[str, Any]) -> int:
    value = fields.get("alternatives", 0)
    try:
        count = -1 if isinstance(value, bool | float) else int(value or 0)
    except (TypeError, ValueError):
        count = -1
    if not 0 <= count <= MOST_ALTERNATIVES:
        raise HTTPException(400, f"Invalid request: alternatives is not a number from 0 to {MOST_ALTERNATIVES}")
    return count


def _model(server: Any, source: str, target: str, number: Any) -> str | None:
    """The model for a pair, or the one with this id; None where source and target are the same language."""
    if number is not None:
        if str(number) not in server.models:
            raise HTTPException(400, f"model {quoted(number)} is not supported: /api/models lists the ids")
        if server.models[str(number)].languages != (source, target):
            raise HTTPException(400, f"model {quoted(number)} does not translate from {source} to {target}")
        return str(number)
    model = pairs(server).get((source, target))
    if model is None and source != target:
        names = f"{language_name(target)} ({target})", f"{language_name(source)} ({source})"
        raise HTTPException(400, f"{names[0]} is not available as a target language from {names[1]}")
    return model
