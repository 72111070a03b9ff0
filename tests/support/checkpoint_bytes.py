"""Checkpoints as bytes: taken apart, and put together again with a right checksum, whatever is in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

_BEFORE_DIGEST = rb"{\"sha256\": \""


def with_right_checksum(data: bytes) -> bytes:
    """The bytes with a checksum that is right, if they have a place for one."""
    start = data.find(_BEFORE_DIGEST) + len(_BEFORE_DIGEST)
    if _BEFORE_DIGEST not in data:
        return data
    data = data[:start] + b"0" * 64 + data[start + 64 :]
    return data[:start] + hashlib.sha256(data).hexdigest().encode() + data[start + 64 :]


def header_and_data(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header of a safetensors file, and the bytes behind it."""
    whole = path.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    return json.loads(whole[8:end]), whole[end:]


def joined(header: dict[str, Any] | bytes, data: bytes) -> bytes:
    """A file with this header, and a checksum that is right."""
    content = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    return with_right_checksum(len(content).to_bytes(8, "little") + content + data)
