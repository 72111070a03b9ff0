"""CSV and TSV, by Python's csv: RFC 4180, with a header or without, line ends inside quotes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from nmt.formats.columns import canonical, choose, matches
from nmt.formats.opening import opened
from nmt.formats.paths import Address
from nmt.system.errors import UserError
from nmt.text.corpus import LONGEST_LINE, decoded_lines
from nmt.text.language import language_name

HEADINGS = {"source", "target", "src", "tgt", "text", "translation", "reference", "id", "key", "context", "comment"}
_CODE = re.compile(r"([a-z]{2})([-_][A-Za-z]{2,4})?")
_SAMPLE = 1000  # lines


def texts(address: Address) -> Iterator[str]:
    """The cells of a column, one per record. Blank lines between records are none.

    Raises `UserError` for a wrong column, quote or encoding, and for a record with more or fewer cells than the first.
    """
    dialect = _dialect(address)
    rows = _rows(address, dialect)
    number, first = next(rows, (0, []))
    if not first:
        raise UserError(f"{address} is empty: give a file that holds text")
    header = _is_header(first) or (address.column is not None and bool(matches(address.column, first)))
    names = [cell.strip() for cell in first] if header else [str(n + 1) for n in range(len(first))]
    column = choose(address, names, numbered=True)
    if not header:
        yield first[column]
    for number, row in rows:
        if len(row) != len(names):
            counts = f"{len(row)} cells, and the first line has {len(names)}"
            advice = "put texts with separators in quotes, and leave no cell out"
            raise UserError(f"{address}, line {number}: {counts}: {advice}")
        yield row[column]


def _rows(address: Address, dialect: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """The number of its first line and the cells of each record."""
    csv.field_size_limit(LONGEST_LINE)
    with opened(address.path) as file:
        reader = csv.reader(decoded_lines(file, address.path), strict=True, **dialect)
        begin = 1
        try:
            for row in reader:
                if row:
                    yield begin, row
                begin = reader.line_num + 1
        except csv.Error as error:
            advice = "put a text with quotes, separators or line ends in quotes, and double the quotes inside"
            raise UserError(f"{address}, line {begin}: not valid CSV ({error}): {advice}") from None


def _dialect(address: Address) -> dict[str, Any]:
    """Arguments of `csv.reader`: the separator, and for TSV whether quotes are marks or text."""
    if address.suffix == ".csv":
        return {"delimiter": _delimiter(address)}
    raw = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    with opened(address.path) as file:
        lines = [line.rstrip("\r\n").split("\t") for line in islice(decoded_lines(file, address.path), _SAMPLE)]
    cells = [cell for line in lines for cell in line if cell.startswith('"')]
    widths = {len(line) for line in lines if line != [""]}
    doubled = any(re.fullmatch(r'"([^"]|"")*""([^"]|"")*"', cell) for cell in cells)
    quoted = doubled or len(widths) > 1 or all(cell.startswith('"') for cell in lines[0] if lines)
    return {"delimiter": "\t"} if cells and quoted else raw


def _delimiter(address: Address) -> str:
    """The comma, unless the first record is one cell of it and more of another, as Excel may write it."""
    for delimiter in ",;\t":
        try:
            if len(next(_rows(address, {"delimiter": delimiter}), (0, [""]))[1]) > 1:
                return delimiter
        except UserError:  # quotes that end before another separator
            continue
    return ","


def _is_header(row: list[str]) -> bool:
    """Whether a first record names columns: two of its cells are languages or usual names, and all differ."""
    names = [cell for cell in row if canonical(cell) in HEADINGS or _is_language(cell.strip())]
    return len(set(row)) == len(row) and len(names) >= min(2, len(row))


def _is_language(cell: str) -> bool:
    match = _CODE.fullmatch(cell)
    return match is not None and language_name(match[1]) != match[1]
