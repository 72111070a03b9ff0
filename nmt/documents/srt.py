"""Subtitles in SubRip's format: numbers and times are kept. Lines of a cue are one text, but those of a dialogue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nmt.documents.inline import Piece, Style, segment_of, text_pieces
from nmt.documents.segments import Segment

STYLE = Style({}, has_entities=False)
_TIME = r"\d+:\d\d:\d\d[,.]\d{1,3}"
_CUE = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*\n(?P<text>(?:[^\n]*\S[^\n]*(?:\n|\Z))*)", re.MULTILINE)
_DIALOGUE = re.compile(r"^[ \t]*[-–—][ \t]*", re.MULTILINE)
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z]+)[^<>\n]*>|\{\\[^{}\n]*\}")


def segments(document: str, _: tuple[str, str]) -> list[Segment]:
    """The texts of subtitles."""
    result: list[Segment] = []
    for cue in _CUE.finditer(document):
        marks = list(_DIALOGUE.finditer(document, *cue.span("text")))
        starts = [cue.start("text"), *(edge for mark in marks for edge in mark.span()), cue.end("text")]
        for start, end in zip(starts[::2], starts[1::2], strict=True):
            result += segment_of(document, _pieces(document, start, end), STYLE)
    return result


def _pieces(document: str, start: int, end: int) -> Iterator[Piece]:
    for tag in _TAG.finditer(document, start, end):
        yield from text_pieces(document, start, tag.start(), STYLE)
        kind = "alone" if not tag["name"] else "close" if tag["slash"] else "open"
        yield Piece(*tag.span(), kind, name=(tag["name"] or "").lower())
        start = tag.end()
    yield from text_pieces(document, start, end, STYLE)
