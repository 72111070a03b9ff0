"""Texts with inline markup as a translator reads them, and back.

White space other than a blank (line ends, no-break spaces, …) is a blank for the model, and returns in the place of the
blank that is nearest to its share of the length. A character that the document writes in another way (`&eacute;`,
`\\*`) is written as its n-th occurrence was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice, pairwise

from nmt.documents.segments import Render, Segment
from nmt.system.errors import UserError

SPACES = r"(?:\s|&(?:nbsp|e[mn]sp|thinsp|hairsp|numsp|puncsp|Tab|NewLine|#(?:9|10|13|32|160|xa0|xA0|x20));)+"
HTML: dict[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_WITH_ENTITIES = re.compile(f"(?P<space>{SPACES})|(?P<other>{ENTITY})")
_SPACE = re.compile(r"(?P<space>\s+)|(?P<other>(?!))")
_TAG = re.compile(r'<(?:(?P<slash>/?)t(?P<pair>\d+)|[to](?P<alone>\d+)/|br n="(?P<line_break>\d+)"/)>')
_PUNCTUATION = re.compile(r"[\s:;,.–—-]*[:;,.–—-]\s+|\s+")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Piece:
    """A span of the document. `kind` is text, space, or markup: open, close, alone, break (which ends a line), object.

    An object stands for words that are not translated, such as code.

    `text` are the characters for which the span of a text stands. `name` is what an opening and a closing tag have in
    common.
    """

    start: int
    end: int
    kind: str
    text: str = ""
    name: str = ""


@dataclass(frozen=True)
class Style:
    """How a format writes characters that would be markup, and words that would at the beginning of a line.

    Characters that are bare in the document are in its translation, too, unless the style `is_strict`.
    """

    escapes: Mapping[str, str]
    line_marks: re.Pattern[str] | None = None
    has_entities: bool = True
    is_strict: bool = False


def decoded(content: bytes) -> tuple[bytes, str]:
    """The byte order mark, if there is one, and the text behind it. Raises `UserError` if it is not UTF-8."""
    mark = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start + len(mark)) + 1
        raise UserError(f"line {line}: not valid UTF-8 text; save the file as UTF-8") from None


def text_pieces(document: str, start: int, end: int, style: Style) -> Iterator[Piece]:
    """The pieces of a span without tags."""
    cursor = start
    for match in (_WITH_ENTITIES if style.has_entities else _SPACE).finditer(document, start, end):
        if match["space"] == " ":
            continue
        if cursor < match.start():
            yield Piece(cursor, match.start(), "text", document[cursor : match.start()])
        cursor = match.end()
        text = " " if match["space"] else unescape(match[0])
        kind = "space" if match["space"] else "text" if len(text) == 1 else "alone"
        yield Piece(*match.span(), kind, text if len(text) == 1 else "")
    if cursor < end:
        yield Piece(cursor, end, "text", document[cursor:end])


def segment_of(document: str, pieces: Iterable[Piece], style: Style) -> Iterator[Segment]:
    """The segment that pieces make, if there are letters in it. Markup at its edges is left out."""
    kept = _trimmed(paired(pieces))
    if any(_LETTER.search(piece.text) for piece in kept):
        text, has_tags = encoded(kept)
        writer = _Writer(document, tuple(kept), style)
        yield Segment(kept[0].start, kept[-1].end, text, writer.write, has_tags)


def parts_of(text: str) -> tuple[list[str], list[str]]:
    """The texts between tags, decoded, and the tags: one less."""
    edges = [0, *(edge for match in _TAG.finditer(text) for edge in match.span()), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    return [_unescaped(piece) for piece in pieces[::2]], pieces[1::2]


def escaped(text: str) -> str:
    """A text as XML."""
    return "".join(HTML.get(character, character) for character in text)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def paired(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with a pair's number as `name` of its two tags. Tags without a partner stand alone."""
    result = list(pieces)
    stack: list[int] = []
    names = Counter[str]()  # of those on the stack
    for n, piece in enumerate(result):
        if piece.kind == "open":
            stack.append(n)
            names[piece.name] += 1
        elif piece.kind == "close" and names[piece.name]:
            while result[opening := stack.pop()].name != piece.name:
                names[result[opening].name] -= 1
                result[opening] = replace(result[opening], kind="alone")
            names[piece.name] -= 1
            result[n] = replace(piece, name=str(opening))
            result[opening] = replace(result[opening], kind="paired")
        elif piece.kind == "close":
            result[n] = replace(piece, kind="alone")
    for n in stack:
        result[n] = replace(result[n], kind="alone")
    return [replace(x, kind="open", name=str(n)) if x.kind == "paired" else x for n, x in enumerate(result)]


def _trimmed(pieces: list[Piece]) -> list[Piece]:
    """The pieces without white space and markup at the edges, but for tags of which the partner is inside."""
    first, last = 0, len(pieces)
    is_changed = True
    while is_changed and first < last:
        before = first, last
        while first < last and _is_empty(pieces[first]):
            first += 1
        while first < last and _is_empty(pieces[last - 1]):
            last -= 1
        if first < last and pieces[first].kind == "open" and pieces[last - 1].kind == "close":
            is_pair = pieces[first].name == pieces[last - 1].name
            first, last = (first + 1, last - 1) if is_pair else (first, last)
        if first + 1 < last and pieces[first].kind == "object" and _PUNCTUATION.match(pieces[first + 1].text):
            first += 1
        is_changed = before != (first, last)
    kept = pieces[first:last]
    if kept and kept[0].kind == "text":
        edge = _PUNCTUATION.match(kept[0].text) if first else None
        text = kept[0].text[edge.end() :] if edge else kept[0].text.lstrip()
        kept[0] = replace(kept[0], start=kept[0].start + len(kept[0].text) - len(text), text=text)
    if kept and kept[-1].kind == "text":
        text = kept[-1].text.rstrip()
        kept[-1] = replace(kept[-1], end=kept[-1].end - len(kept[-1].text) + len(text), text=text)
    return kept


def _is_empty(piece: Piece) -> bool:
    return piece.kind in ("space", "alone", "break") or (piece.kind == "text" and not piece.text.strip())


def encoded(pieces: Sequence[Piece]) -> tuple[str, bool]:
    """What the translator reads of pieces, and whether there are tags."""
    has_tags = any(piece.kind not in ("text", "space") for piece in pieces)
    if not has_tags:
        return "".join(piece.text for piece in pieces), False
    tags = {"open": "<t{1}>", "close": "</t{1}>", "alone": "<t{0}/>", "object": "<o{0}/>", "break": '<br n="{0}"/>'}
    parts = []
    for n, piece in enumerate(pieces):
        parts.append(tags[piece.kind].format(n, piece.name) if piece.kind in tags else escaped(piece.text))
    return "".join(parts), True


def placed(pieces: Sequence[Piece], tags: Sequence[str]) -> Iterator[Piece]:
    """The pieces for which tags of a translation stand."""
    pairs = {(piece.kind, piece.name): piece for piece in pieces}
    for tag in tags:
        match = _TAG.fullmatch(tag)
        assert match is not None
        kind = "close" if match["slash"] else "open"
        yield pairs[kind, match["pair"]] if match["pair"] else pieces[int(match["alone"] or match["line_break"])]


@dataclass(frozen=True)
class _Writer:
    """Writes the translation of pieces in the place of these."""

    document: str
    pieces: tuple[Piece, ...]
    style: Style

    def write(self, translation: str, render: Render) -> str:
        has_tags = encoded(self.pieces)[1]
        texts, tags = parts_of(translation) if has_tags else ([translation], [])
        markup = [(tag, render(tag.start, tag.end)) for tag in placed(self.pieces, tags)]
        if self.style.line_marks:
            texts = [re.sub(r"\s+", " ", text) for text in texts]
            for n, (tag, _) in enumerate(markup):
                if (
                    tag.kind == "break" and "\n" in self.document[tag.start : tag.end]
                ):  # a blank beside a line end could become another one
                    texts[n : n + 2] = texts[n].rstrip(), texts[n + 1].lstrip()
        characters = iter(raw_characters(self.document, self.pieces, self.style, "".join(texts)))
        result, lines = "".join(islice(characters, len(texts[0]))), [(0, self.pieces[0].start)]
        for (tag, raw), text in zip(markup, texts[1:], strict=True):
            result += raw
            lines += [(len(result), tag.end)] * (tag.kind == "break")
            result += "".join(islice(characters, len(text)))
        for start, position in reversed(lines):
            result = result[:start] + self._line_begin(result[start:], position)
        return result

    def _line_begin(self, text: str, position: int) -> str:
        """A text at the beginning of a line, of which a first word that would be the mark of a block is escaped.

        `position` is where that line begins in the document.
        """
        marks, first, at = self.style.line_marks, _word(self.document, position), len(text) - len(text.lstrip())
        if (
            not marks
            or not (match := marks.match(text, at))
            or (first.startswith(_word(text)) and not self.style.is_strict)
        ):
            return text
        return text[: match.end() - 1] + "\\" + text[match.end() - 1 :]


def raw_characters(document: str, pieces: Sequence[Piece], style: Style, text: str) -> list[str]:
    """How each character of a translation is written in the place of pieces."""
    spaces, forms = _spaces(document, pieces, style, text), _forms(document, pieces, style)
    return [spaces.get(n) or _raw(character, forms, style) for n, character in enumerate(re.sub(r"\s", " ", text))]


def _raw(character: str, forms: Mapping[str, list[str]], style: Style) -> str:
    if forms_left := forms.get(character):
        return forms_left.pop() if len(forms_left) > 1 or character in style.escapes else forms_left[0]
    return style.escapes.get(character, character)


def _forms(document: str, pieces: Sequence[Piece], style: Style) -> dict[str, list[str]]:
    """How a document writes each occurrence of a character that is not always written bare, the first one last."""
    forms = defaultdict[str, list[str]](list)
    texts = [(piece.text, document[piece.start : piece.end]) for piece in pieces if piece.kind == "text"]
    special = {text for text, raw in texts if text != raw} | style.escapes.keys()
    for text, raw in texts:
        for character in special & set(text):
            is_bare = text == raw
            if not (is_bare and style.is_strict and character in style.escapes):
                forms[character] += [character] * text.count(character) if is_bare else [raw]
    return {character: raws[::-1] for character, raws in forms.items()}


def _spaces(document: str, pieces: Sequence[Piece], style: Style, text: str) -> dict[int, str]:
    """What is written in the place of blanks of a translation, by their positions."""
    length, breaks, source = 0, [], "".join(piece.text for piece in pieces)
    for piece in pieces:
        if piece.kind == "space":
            breaks.append((length, document[piece.start : piece.end]))
        length += len(piece.text)
    all_blanks = [match.start() for match in re.finditer(r"\s", text)]
    marks = style.line_marks  # no line may begin with one, unless a line of the document does
    first_words = {_word(source, position + 1) for position, _ in breaks} if not style.is_strict else set()
    no_marks = [n for n in all_blanks if not (marks and marks.match(text, n + 1)) or _word(text, n + 1) in first_words]
    spaces: dict[int, str] = {}
    last = -1
    for position, space in breaks:
        share = position * len(text) / length
        blanks = no_marks if "\n" in space else all_blanks
        first, at = bisect_right(blanks, last), bisect_left(blanks, share)
        if nearest := sorted(blanks[max(at - 1, first) : max(at, first) + 1], key=lambda blank: abs(blank - share)):
            last = nearest[0]
            spaces[last] = space
    return spaces


def _word(text: str, position: int = 0) -> str:
    """The first word of a text from a position on."""
    return next(iter(text[position : position + 200].split(maxsplit=1)), "")
