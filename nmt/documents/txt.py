"""Plain text: each line is a text, and so is a paragraph that was wrapped at a width.

Lines are joined if all of these hold: the upper one ends no sentence, has at least 50 characters, and the lower one's
first word would have made it longer than the longest line of the paragraph; the lower one has no list mark. So lists,
verse, addresses and one sentence per line stay lines. Columns (tabs, three blanks) are texts of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nmt.documents.inline import Style, segment_of, text_pieces
from nmt.documents.segments import Segment

STYLE = Style({}, has_entities=False)
SHORTEST_WRAPPED = 50
_LINE = re.compile(r"[^\r\n]+")
_MARK = re.compile(r"\s*(?:[-*+•‣–—>#|]+\s+|\(?(?:\d{1,3}|[A-Za-z])[.)]\s+)*")
_ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'»”“’)\]]*\s*$")
_COLUMNS = re.compile(r"\t+| {3,}")


def segments(document: str, _: tuple[str, str]) -> list[Segment]:
    """The texts of a plain text document."""
    result: list[Segment] = []
    for start, end in _texts(document):
        first = _MARK.match(document, start, end)
        edges = [first.end() if first else start]
        for gap in _COLUMNS.finditer(document, edges[0], end):
            edges += gap.span()
        edges.append(end)
        for begin, stop in zip(edges[::2], edges[1::2], strict=True):
            result += segment_of(document, text_pieces(document, begin, stop, STYLE), STYLE)
    return result


def _texts(document: str) -> Iterator[tuple[int, int]]:
    """Where texts begin and end: lines, or several of one paragraph."""
    paragraph: list[re.Match[str]] = []
    for line in [*_LINE.finditer(document), None]:
        gap = document[paragraph[-1].end() : line.start() if line else len(document)] if paragraph else ""
        if paragraph and (line is None or gap not in ("\n", "\r\n") or not line[0].strip()):
            yield from _joined(paragraph)
            paragraph = []
        if line is not None and line[0].strip():
            paragraph.append(line)


def _joined(paragraph: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    width = max(len(line[0].rstrip()) for line in paragraph)
    start = paragraph[0].start()
    for line, following in zip(paragraph, [*paragraph[1:], None], strict=True):
        if following is None or not _is_wrapped(line[0].rstrip(), following[0], width):
            yield start, line.end()
            start = following.start() if following else 0


def _is_wrapped(line: str, following: str, width: int) -> bool:
    mark = _MARK.match(following)
    is_list = mark is not None and bool(mark[0].strip())
    columns = _COLUMNS.search(line.strip()) or _COLUMNS.search(following.strip())
    is_full = len(line) >= SHORTEST_WRAPPED and len(line) + 1 + len(following.split()[0]) > width
    return is_full and not is_list and not columns and not _ENDS_SENTENCE.search(line)
