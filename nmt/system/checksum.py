"""JSON that carries its own SHA-256, so that a changed byte is noticed: notes that nmt writes for itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_FIELD = "sha256"


def with_checksum(values: Mapping[str, Any]) -> bytes:
    """Plain values by their names as JSON, with the SHA-256 of the JSON without it."""
    return _as_json({**values, _FIELD: hashlib.sha256(_as_json(values)).hexdigest()})


def without_checksum(content: bytes) -> dict[str, Any]:
    """The values that `with_checksum` turned into this content. Raises `ValueError` if any byte differs."""
    try:
        values: dict[str, Any] = json.loads(content)
        del values[_FIELD]
        if with_checksum(values) == content:
            return values
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ValueError("it was cut off or changed")


def _as_json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=1, ensure_ascii=False).encode()
