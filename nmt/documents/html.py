"""HTML: the text of elements, and the attributes that people read. Scripts, styles, code and addresses are kept.

`translate="no"` and the class `notranslate` keep an element. The attribute `lang` of `<html>` is set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from nmt.documents.inline import HTML, Piece, Style, segment_of, text_pieces
from nmt.documents.segments import Segment, replacement

STYLE = Style(HTML)
ATTRIBUTE_STYLE = Style(HTML | {'"': "&quot;", "'": "&#39;"})
ATTRIBUTES = ("title", "alt", "placeholder", "aria-label")
KEPT = frozenset(re.findall(r"\w+", "script style code pre kbd samp var textarea template svg math"))
VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
INLINE = frozenset(
    re.findall(
        r"\w+",
        """a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math meter nobr
        output q ruby rb rp rt s samp small span strike strong sub sup svg time tt u var wbr""",
    )
)
_MAY_STAY_OPEN = frozenset(("li", "dt", "dd", "p", "option", "tr", "td", "th"))  # until the next one
_ATTRIBUTE = re.compile(r"""(?:^|[\s"'/])([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")


class Part(NamedTuple):
    """A piece of HTML: `kind` is open, close, alone, or text. `attributes` are spans of values, without quotes."""

    start: int
    end: int
    kind: str
    name: str = ""
    attributes: tuple[tuple[str, int, int], ...] = ()


class _Parser(HTMLParser):
    """Where the parts of a document begin."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *(match.end() for match in re.finditer("\n", document))]
        self.starts: list[tuple[int, str, str]] = []
        self.feed(document)
        self.close()

    def _add(self, kind: str, name: str = "") -> None:
        line, column = self.getpos()
        self.starts.append((self._lines[line - 1] + column, kind, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._add("alone" if tag in VOID else "open", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._add("alone" if tag in VOID or tag not in INLINE else "open", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("close", tag)

    def handle_data(self, data: str) -> None:
        self._add("text")

    def handle_entityref(self, name: str) -> None:
        self._add("text")

    handle_charref = handle_entityref

    def handle_comment(self, data: str) -> None:
        self._add("alone")

    def handle_decl(self, decl: str) -> None:
        self._add("alone")

    handle_pi = handle_comment
    unknown_decl = handle_comment


def parts_of(document: str) -> list[Part]:
    """The parts of a document, from its first character to its last."""
    starts = sorted(_Parser(document).starts, key=lambda start: start[0])
    parts: list[Part] = []
    for (start, kind, name), (end, *_) in pairwise([*starts, (len(document), "", "")]):
        if kind == "text" and parts and parts[-1].kind == "text":
            parts[-1] = parts[-1]._replace(end=end)
        else:
            attributes = tuple(_attributes(document, start, end)) if kind in ("open", "alone") and name else ()
            parts.append(Part(start, end, kind, name, attributes))
    return parts


def _attributes(document: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for match in _ATTRIBUTE.finditer(document, start + 1, end):
        if match[2]:
            quoted = match[2][0] in "\"'"
            yield match[1].lower(), match.start(2) + quoted, match.end(2) - quoted


def segments(document: str, languages: tuple[str, str]) -> list[Segment]:
    """The texts of an HTML document."""
    parts = parts_of(document)
    result: list[Segment] = []
    run: list[Piece] = []
    n = 0
    while n < len(parts):
        part = parts[n]
        last = _end_of_kept(document, parts, n)
        if last is None:
            result += _of_attributes(document, part, languages[1])
        if part.kind == "text":
            run += text_pieces(document, part.start, part.end, STYLE)
        elif part.name and part.name not in INLINE:
            result += segment_of(document, run, STYLE)
            run = []
        elif last is not None:
            run.append(Piece(part.start, parts[last].end, "alone" if part.name in ("img", "svg", "math") else "object"))
        elif part.name == "br":
            run.append(Piece(part.start, part.end, "break"))
        else:
            run.append(Piece(part.start, part.end, part.kind, name=part.name))
        n = n + 1 if last is None else last + 1
    return [*result, *segment_of(document, run, STYLE)]


def _end_of_kept(document: str, parts: Sequence[Part], n: int) -> int | None:
    """The index of the part that ends an element whose text is kept; None for other parts."""
    part = parts[n]
    values = {name: document[start:end] for name, start, end in part.attributes}
    is_marked = values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()
    if part.kind == "alone" and is_marked:
        return n
    if part.kind != "open" or not (is_marked or part.name in KEPT):
        return None
    open_names = [part.name]
    for i in range(n + 1, len(parts)):
        name, kind = parts[i].name, parts[i].kind
        is_outside = kind == "close" and name not in open_names
        if is_outside or (kind == "open" and open_names == [name] and name in _MAY_STAY_OPEN):
            return i - 1
        while kind == "close" and open_names.pop() != name:
            pass
        if not open_names:
            return i
        open_names += [name] * (kind == "open")
    return len(parts) - 1


def _of_attributes(document: str, part: Part, language: str) -> Iterator[Segment]:
    for name, start, end in part.attributes:
        is_quoted = document[start - 1] in "\"'"
        if name in ATTRIBUTES and is_quoted:
            yield from segment_of(document, text_pieces(document, start, end, ATTRIBUTE_STYLE), ATTRIBUTE_STYLE)
        elif name == "lang" and part.name == "html" and document[start:end].split("-")[0].lower() != language:
            yield replacement(start, end, language)
