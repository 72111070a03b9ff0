"""JSON lines: one object per line, whose texts may be one level deeper, as in `{"translation": {"de": …, "en": …}}`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from nmt.formats.columns import choose
from nmt.formats.opening import opened
from nmt.formats.paths import Address
from nmt.system.errors import UserError
from nmt.text.corpus import decoded_lines

_SAMPLE = 100  # lines, whose fields can be named


def texts(address: Address) -> Iterator[str]:
    """The texts of a field, one per object; "" where an object has none. Raises `UserError` for anything else."""
    objects = _objects(address)
    sample = list(islice(objects, _SAMPLE))
    if not sample:
        return
    names = list(dict.fromkeys(name for _, entry in sample for name in _fields(entry)))
    name = names[choose(address, names)]
    for number, entry in chain(sample, objects):
        text = _fields(entry).get(name)
        if not isinstance(text, str | None):
            raise UserError(f"{address}, line {number}: {name} is no text: name another field")
        yield text or ""


def _fields(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object and, with a dot, of the objects in it: translation.de."""
    fields: dict[str, Any] = {}
    for name, value in entry.items():
        inner = value.items() if isinstance(value, dict) else ()
        fields |= {f"{name}.{key}": text for key, text in inner} if inner else {name: value}
    return fields


def _objects(address: Address) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(address.path) as file:
        for number, line in enumerate(decoded_lines(file, address.path), start=1):
            try:
                entry = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                reason = f"not valid JSON ({error})"
                raise UserError(f"{address}, line {number}: {reason}: give one object per line") from None
            if isinstance(entry, dict):
                yield number, entry
            elif entry is not None or line.strip():
                raise UserError(f"{address}, line {number}: not an object: give one object per line, as {{'en': …}}")
