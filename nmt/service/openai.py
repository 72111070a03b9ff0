"""Translation as a chat (platform.openai.com/docs/api-reference/chat): the last message of the user is translated.

The model is an id of `/api/models`, a pair of languages such as `de-en`, or a model's name. Other fields, such as
`temperature`, have no effect. A stream has one part.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from nmt.service.forms import fields_of
from nmt.service.translating import MOST_ALTERNATIVES, Job, Translated, pairs, quoted, translate_texts

PREFIX = "/v1/"
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
router = APIRouter(prefix="/v1", include_in_schema=False)


def error_body(status: int, message: str) -> dict[str, Any]:
    """An error in the form of OpenAI's."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


@router.get("/models")
async def models(request: Request) -> Any:
    """The models by pair of languages; a second one of a pair by its id."""
    server = request.app.state.server
    names = {number: "-".join(pair) for pair, number in pairs(server).items()}
    return {"object": "list", "data": [_described(names.get(number, number)) for number in server.models]}


@router.get("/models/{name:path}")
async def model(request: Request, name: str) -> Any:
    _model(request.app.state.server, name)
    return _described(name)


@router.post("/chat/completions")
async def complete(request: Request) -> Response:
    """Translate the last message of the user."""
    fields, server = fields_of(request.scope, await request.body()), request.app.state.server
    job = Job(_last_message(fields), _model(server, fields.get("model")))
    count = fields.get("n") or 1
    if not isinstance(count, int) or not 1 <= count <= MOST_ALTERNATIVES + 1:
        raise HTTPException(400, f"n is not a number from 1 to {MOST_ALTERNATIVES + 1}")

    async def answer() -> dict[str, Any]:
        [translated] = await translate_texts(server, [job], "text", count - 1)
        return _completion(str(fields["model"]), translated)

    response: Response = await server.while_connected(request, answer())
    if not fields.get("stream"):
        return response
    return StreamingResponse(iter(_events(json.loads(bytes(response.body)))), media_type="text/event-stream")


def _described(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "nmt"}


def _model(server: Any, name: Any) -> str:
    """The id of a model that is named by its id, its pair of languages, or its name."""
    names = {served.name: number for number, served in reversed(server.models.items())}
    names |= {"-".join(pair): number for pair, number in pairs(server).items()}
    names |= {number: number for number in server.models}
    if not isinstance(name, str) or name not in names:
        raise HTTPException(404, f"The model {quoted(name)} does not exist: /v1/models lists the models")
    return names[name]


def _last_message(fields: dict[str, Any]) -> str:
    messages = fields.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise HTTPException(400, "messages is not a list of objects with role and content")
    content = next((message.get("content") for message in reversed(messages) if message.get("role") == "user"), None)
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        texts = [part.get("text") for part in content]
        content = "\n".join(text for text in texts if isinstance(text, str)) if None not in texts else None
    if not isinstance(content, str):
        raise HTTPException(400, "messages has no message of the user with text: its content is what is translated")
    return content


def _completion(model: str, translated: Translated) -> dict[str, Any]:
    texts = [translated.text, *translated.alternatives]
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
            for index, text in enumerate(texts)
        ],
        "usage": {
            "prompt_tokens": translated.source_tokens,
            "completion_tokens": translated.target_tokens,
            "total_tokens": translated.source_tokens + translated.target_tokens,
        },
    }


def _events(completion: dict[str, Any]) -> list[str]:
    """A completion as server-sent events: its text in one part, its end, and the end of the stream."""
    shared = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    texts = [
        {"index": choice["index"], "delta": {"role": "assistant", "content": choice["message"]["content"]}}
        for choice in completion["choices"]
    ]
    ends = [{"index": choice["index"], "delta": {}, "finish_reason": "stop"} for choice in completion["choices"]]
    texts = [choice | {"finish_reason": None} for choice in texts]
    chunks = [json.dumps(shared | {"choices": choices}) for choices in (texts, ends)]
    return [f"data: {chunk}\n\n" for chunk in (*chunks, "[DONE]")]
