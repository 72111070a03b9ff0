"""gettext's PO and MO, by polib: units are messages, and of plurals the first and the last form.

`source` is the message id, in English unless the header has `X-Source-Language`; `target` the translation, in the
header's `Language`. Obsolete messages are left out; a fuzzy translation counts as none.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmt.formats.columns import choose
from nmt.formats.opening import extra, opened
from nmt.formats.paths import Address
from nmt.system.errors import UserError

LARGEST = 1 << 26  # bytes: polib has the whole file in memory


def texts(address: Address) -> Iterator[str]:
    """The message ids or the translations. Raises `UserError` for a file that is none, or of more than `LARGEST`."""
    catalogue = _read(address)
    languages = (catalogue.metadata.get("X-Source-Language") or "en", catalogue.metadata.get("Language", ""))
    position = choose(address, [*languages, "source", "target"]) % 2
    for entry in catalogue:
        if entry.obsolete or entry.msgid == "":
            continue
        forms = [text for _, text in sorted(entry.msgstr_plural.items())] or [entry.msgstr]
        pairs, is_fuzzy = [(entry.msgid, forms[0])], "fuzzy" in getattr(entry, "flags", ())
        if entry.msgid_plural:
            pairs.append((entry.msgid_plural, forms[-1]))
        for pair in pairs:
            yield "" if position == 1 and is_fuzzy else pair[position]


def _read(address: Address) -> Any:
    polib = extra("polib", address)
    with opened(address.path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UserError(f"{address}: more than {LARGEST:,} bytes: split the catalogue, or convert it to CSV")
    with TemporaryDirectory() as folder:  # polib takes a path, or a text, whose lines it ends at U+2028, too
        path = Path(folder) / f"messages{address.suffix}"
        path.write_bytes(content)
        if not content:
            raise UserError(f"{address} is empty: give a file that holds text")
        if address.suffix != ".mo":
            _check_encoding(address, content)
        try:
            return polib.mofile(str(path)) if address.suffix == ".mo" else polib.pofile(str(path))
        except (OSError, ValueError, IndexError, LookupError, struct.error) as error:
            match = re.search(r"\(line (\d+)\)(?:: (.*))?", str(error))
            place = f"{address}, line {match[1]}" if match else f"{address}"
            reason = (match[2] or "syntax error") if match else str(error).replace(str(path), "it") or "cut off"
            raise UserError(f"{place}: not a valid {address.suffix} file ({reason}): write it again") from None


def _check_encoding(address: Address, content: bytes) -> None:
    """Raise `UserError` for bytes that are none in the encoding of the header."""
    match = re.search(rb"charset=([\w-]+)", content)
    charset = match[1].decode() if match and match[1] != b"CHARSET" else "utf-8"
    try:
        content.decode(charset)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{address}, line {line}: not valid {charset} text; save the file as UTF-8") from None
    except LookupError:
        raise UserError(f"{address}: its header names the encoding {charset}: save the file as UTF-8") from None
