"""Notes that nmt writes for itself: JSON that carries its own SHA-256, so that a changed byte is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SEAL = "sha256"


def sealed(values: Mapping[str, Any]) -> bytes:
    """Plain values by their names as JSON, with the SHA-256 of the JSON without it."""
    digest = hashlib.sha256(_written(values)).hexdigest()
    return _written({**values, _SEAL: digest})


def unsealed(content: bytes) -> dict[str, Any]:
    """The values of which `sealed` made this content. Raises `ValueError` if a byte of it is another one."""
    try:
        values = json.loads(content)
        values.pop(_SEAL)
        same = sealed(values) == content
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        same = False
    if not same:
        raise ValueError("it was cut off or changed")
    return values


def _written(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=1, ensure_ascii=False).encode()
