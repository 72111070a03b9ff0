"""The fields of a request, which is JSON or a form, and who sends it."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

MOST_FIELDS = 1000


def fields_of(scope: MutableMapping[str, Any], body: bytes) -> dict[str, Any]:
    """The fields in the query and in the body, which is JSON or URL-encoded. A field that is there twice is a list.

    Raises `HTTPException` (400) for another body.
    """
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    fields = _decoded(scope["query_string"])
    if not body.strip():
        return fields
    if kind in ("application/json", ""):
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400, "Invalid request: the body is not JSON") from None
        if not isinstance(values, dict):
            raise HTTPException(400, "Invalid request: the body is not a JSON object")
        return fields | values
    if kind == "application/x-www-form-urlencoded":
        return fields | _decoded(body)
    raise HTTPException(400, "Invalid request: send JSON or a URL-encoded form, with its Content-Type")


def _decoded(form: bytes) -> dict[str, Any]:
    try:
        values = parse_qs(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "Invalid request: the form is not URL-encoded UTF-8") from None
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in values.items()}


def key_of(scope: MutableMapping[str, Any], body: bytes) -> str | None:
    """The key that a request brings: `Authorization: Bearer KEY`, or the field `api_key`; None if there is none."""
    scheme, _, bearer = Headers(scope=scope).get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return bearer
    try:
        key = fields_of(scope, body).get("api_key")
    except HTTPException:  # which the address itself reports
        return None
    return key if isinstance(key, str) and key else None
