"""Segments of a document: spans of its text that a translation replaces. What is between them is kept.

    pieces = text_pieces(document, start, end)
    segments = [*segment_of(document, pieces, HTML)]
    new = written(document, segments, translations)

A format makes `Piece`s of what belongs together, such as a paragraph: text, white space, and inline markup. The model
reads text with one blank for white space, and with numbered tags for markup (`inline`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Render: TypeAlias = Callable[[int, int], str]
"""The document from one offset to another, with the translations of the segments inside."""


@dataclass(frozen=True)
class Segment:
    """What is translated, and `write`, which makes of the translation what replaces the span `start` to `end`.

    `has_tags`: the text is XML with numbered tags. Where `text` is empty nothing is translated. Offsets are characters.
    """

    start: int
    end: int
    text: str
    write: Callable[[str, Render], str]
    has_tags: bool = False


def insertion(position: int, text: str) -> Segment:
    """A text that is added to the document."""
    return replacement(position, position, text)


def replacement(start: int, end: int, text: str) -> Segment:
    """A text that replaces a span and is no translation."""
    return Segment(start, end, "", lambda *_: text)


def written(document: str, segments: Sequence[Segment], translations: Sequence[str]) -> str:
    """The document with translations in the places of segments, of which one may be inside another's markup."""
    numbers = sorted(range(len(segments)), key=lambda n: (segments[n].start, -segments[n].end, n))
    starts = [segments[n].start for n in numbers]

    def render(start: int, end: int) -> str:
        parts, cursor = [], start
        for i in range(bisect_left(starts, start), len(starts)):
            segment = segments[numbers[i]]
            if segment.start > end or (segment.start == end < len(document)):
                break
            if segment.start >= cursor and segment.end <= end:
                parts += [document[cursor : segment.start], segment.write(translations[numbers[i]], render)]
                cursor = segment.end
        return "".join([*parts, document[cursor:end]])

    return render(0, len(document))
