"""The texts of a file of any format, one after the other: what this add-on offers to the core and to other add-ons.

A path may end with `#` and a column or language, such as `memory.csv.gz#en`, `memory.tmx#de-AT`, `strings.po#source`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from nmt.formats.opening import opened
from nmt.formats.paths import Address, parse
from nmt.system.errors import UserError
from nmt.system.files import file_digest
from nmt.text.corpus import LINE_END, decoded_lines, report_read_errors

_LINE_END = re.compile(r"\r\n?|\n")


def reads(path: Path) -> bool:
    """Whether this add-on, and not the core, reads a path: by its name, whether or not the file exists."""
    return parse(path) is not None


def with_column(path: Path, language: str) -> Path:
    """The path with `#language`, unless it has a column already or names a file of plain lines."""
    address = parse(path)
    if address is None or address.column is not None or address.kind == "lines":
        return path
    return Path(address.of(language))


def iterate_texts(path: Path) -> Iterator[str]:
    """Yield the texts of one column or language, one per unit of the file, "" where a unit lacks it.

    Line ends inside a text become `LINE_END`. Raises `UserError` if the file cannot be read, has no such column, has
    no text, or is not what its name says; with the line or unit.
    """
    address = _parsed(path)
    read = _lines if address.kind == "lines" else import_module(f"nmt.formats.{address.kind}").texts
    count = 0
    for count, text in enumerate(read(address), start=1):  # noqa: B007
        yield _LINE_END.sub(LINE_END, text) if "\n" in text or "\r" in text else text
    if count == 0:
        raise UserError(f"{address} has no texts: give a file that holds some")


def digest(path: Path) -> tuple[str, str]:
    """The name of a path's format and column, and a hash of its files: what decides its texts."""
    address = _parsed(path)
    paths = [address.path]
    if address.kind in ("hub", "corpora"):
        paths = import_module(f"nmt.formats.{address.kind}").files(address)
    digests = []
    for file in paths:
        with report_read_errors(file):
            digests.append(file_digest(file))
    together = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return f"{''.join(address.path.suffixes[-2:])}#{address.column}", together


def _parsed(path: Path) -> Address:
    address = parse(path)
    assert address is not None, path  # `reads` says so
    return address


def _lines(address: Address) -> Iterator[str]:
    if address.column is not None:
        raise UserError(f"{address} has lines and no columns: leave out #{address.column}")
    with opened(address.path) as file:
        for line in decoded_lines(file, address.path):
            yield line.removesuffix("\n").removesuffix("\r")
