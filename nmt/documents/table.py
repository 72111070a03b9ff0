"""CSV and TSV with one column for each language: the target's is added, or its empty cells are filled.

The first row has the names of the columns, of which those of languages are codes such as `en` and `de-AT`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.documents.bilingual import is_language
from nmt.documents.segments import Render, Segment, insertion
from nmt.system.errors import UserError

DELIMITERS = ",;\t"
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Cell:
    """The span of a cell in the document, with its quotes, and its text."""

    start: int
    end: int
    text: str


def segments(document: str, languages: tuple[str, str]) -> list[Segment]:
    """The cells of the source column without a translation. Raises `UserError` for a file without such columns."""
    header, delimiter = _header(document, languages[0])
    source, target = (_column(header, language) for language in languages)
    rows = _rows(document, delimiter)
    assert source is not None
    result: list[Segment] = []
    if target is None:
        target = len(header)
        result.append(insertion(rows[0][-1].end, delimiter + languages[1]))
    for row in rows[1:]:
        text = row[source].text if source < len(row) else ""
        if text.strip() and target < len(row) and not row[target].text.strip():
            result.append(_segment((row[target].start, row[target].end), "", text, delimiter))
        elif target >= len(row):
            gap = delimiter * (target - len(row) + 1)
            span = row[-1].end, row[-1].end
            is_new = target == len(header)
            result += [_segment(span, gap, text, delimiter)] if text.strip() else [insertion(span[0], gap)] * is_new
    return result


def _segment(span: tuple[int, int], before: str, source: str, delimiter: str) -> Segment:
    text = source.strip()

    def write(translation: str, _: Render) -> str:
        return before + _quoted(source.replace(text, translation), delimiter)

    if not any(map(str.isalpha, text)):
        return Segment(*span, "", lambda *_: before + _quoted(source, delimiter))
    return Segment(*span, text, write)


def _quoted(text: str, delimiter: str) -> str:
    """A cell of this text, in quotes if it needs them."""
    if not re.search(f'["\\r\\n{delimiter}]', text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _header(document: str, language: str) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter: the one with which a column is the language's."""
    line = _LINE_END.split(document, maxsplit=1)[0]
    for delimiter in DELIMITERS:
        names = [name.strip().strip('"') for name in line.split(delimiter)]
        if _column(names, language) is not None:
            return names, delimiter
    columns = ", ".join(name.strip() for name in re.split(f"[{DELIMITERS}]", line))
    raise UserError(f"line 1: no column is {language} (there is {columns}): name the columns by codes of languages")


def _column(names: Sequence[str], language: str) -> int | None:
    exact = [n for n, name in enumerate(names) if name.lower() == language.lower()]
    return next(iter(exact or [n for n, name in enumerate(names) if is_language(name, language)]), None)


def _rows(document: str, delimiter: str) -> list[list[Cell]]:
    """The cells of all rows that are not blank. Raises `UserError` for a quote that does not end, or in mid-cell."""
    quoted, bare = re.compile('"((?:[^"]|"")*)"'), re.compile(f"[^\\r\\n{delimiter}]*")
    rows: list[list[Cell]] = [[]]
    position = 0
    while position <= len(document):
        cell = quoted.match(document, position)
        if cell is None and document.startswith('"', position):
            raise _broken(document, position, "a quote that does not end")
        cell = cell or bare.match(document, position)
        assert cell is not None
        rows[-1].append(Cell(*cell.span(), cell[1].replace('""', '"') if cell.lastindex else cell[0]))
        position = cell.end()
        line_end = _LINE_END.match(document, position)
        if line_end or position == len(document):
            rows.append([])
            position = line_end.end() if line_end else position + 1
        elif document[position] == delimiter:
            position += 1
        else:
            raise _broken(document, position, "text behind a closing quote")
    return [row for row in rows if len(row) > 1 or (row and row[0].end > row[0].start)]


def _broken(document: str, position: int, what: str) -> UserError:
    line = document.count("\n", 0, position) + 1
    return UserError(f'line {line}: {what}: write a quote inside quotes as ""')
