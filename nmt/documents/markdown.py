"""Markdown: paragraphs, headings, list items and cells of tables, by CommonMark's rules (markdown-it-py).

Code, addresses, raw HTML, front matter and all marks of blocks are kept. Emphasis and links are tags around words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from nmt.documents.inline import Piece, Style, segment_of, text_pieces
from nmt.documents.segments import Render, Segment
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Writer: TypeAlias = Callable[[str, Render], str]
_ESCAPES = {character: f"\\{character}" for character in "\\`*_[]<"}
_MARKS = re.compile(r"(?:[-+*]|#{1,6}|\d{1,9}[.)]|[-=_*]+|[~`]{3,}[^\s`]*)(?=\s|$)|>")
STYLE = Style(_ESCAPES, _MARKS)
CELL = Style(_ESCAPES | {"|": "\\|"})
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:.*?\r?\n)?\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CELL = re.compile(r"(?:\\.|[^\\|])+", re.DOTALL)
_TASK = re.compile(r"\[[ xX]\]\s")
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta source track wbr"))


def segments(document: str, _: tuple[str, str]) -> list[Segment]:
    """The texts of a Markdown document."""
    front = _FRONT_MATTER.match(document)
    begin = front.end() if front else 0
    lines = [begin, *(begin + match.end() for match in re.finditer(r"\r\n?|\n", document[begin:])), len(document)]
    env: dict[str, Any] = {}
    result: list[Segment] = []
    row = -1
    for token in _parser().parse(document[begin:], env):
        if token.type == "tr_open" and token.map:
            row = token.map[0]
            for start, end in _cells(document, lines[row], lines[row + 1]):
                result += _inline(document, document[start:end], range(start, end + 1), env, CELL)
        elif token.type == "inline" and token.map and token.map[0] != row:
            located = _located(document, lines, token.map, token.content)
            result += _inline(document, *located, env, STYLE) if located else ()
    return result


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ModuleNotFoundError:
        raise UserError("documents in Markdown need markdown-it-py: pip install 'nmt[documents]'") from None
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.inline.ruler2.disable("fragments_join")
    for rule in parser.inline.ruler.get_active_rules():
        function = next(x.fn for x in parser.inline.ruler.__rules__ if x.name == rule)
        parser.inline.ruler.at(rule, _recording(rule, function))
    return parser


def _recording(name: str, rule: Callable[..., bool]) -> Callable[..., bool]:
    """A rule of the inline parser that also records what it reads: name, start, end, the end of a label, tokens."""

    def recording(state: Any, silent: bool) -> bool:
        records = state.env.get("records")
        is_recorded = records is not None and not silent and state.env["text"] is state.src
        if not is_recorded:
            return rule(state, silent)
        start, number = state.pos, len(records)
        before = len(state.tokens) + bool(state.pending)  # which is a token as soon as another one follows
        label = (
            state.md.helpers.parseLinkLabel(state, start + (name == "image"), name == "link")
            if name in _LABELLED
            else -1
        )
        if not rule(state, silent):
            return False
        records.insert(number, (name, start, state.pos, label, state.tokens[before:]))
        return True

    return recording


_LABELLED = ("link", "image")


def _cells(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for cell in _CELL.finditer(document, start, end):
        text = cell[0]
        yield cell.start() + len(text) - len(text.lstrip()), cell.start() + len(text.rstrip())


def _located(document: str, lines: Sequence[int], block: Sequence[int], content: str) -> tuple[str, list[int]] | None:
    """A block's text without white space at its edges, and the offset of each character and of the end in the document.

    A line end stands for all between two lines, such as the mark of a quotation. None if a line is not in the document
    as it is.
    """
    texts, offsets, row = [], list[int](), block[0]
    for text in map(str.lstrip, content.strip().split("\n")):
        at = -1
        while at < 0 and row < block[1]:
            line = document[lines[row] : lines[row + 1]].rstrip("\r\n")
            line = line if line.endswith(text) else line.rstrip()
            at = len(line) - len(text) if line.endswith(text) else line.find(text)
            row += 1
        if at < 0:
            return None
        start = lines[row - 1] + at
        offsets += range(start, start + len(text) + 1)
        texts.append(text)
    return "\n".join(texts), offsets


def _inline(document: str, text: str, offsets: Sequence[int], env: dict[str, Any], style: Style) -> Iterator[Segment]:
    """The segments of a text with inline markup, whose characters are at these offsets."""
    records: list[Any] = []
    _parser().inline.parse(
        text, _parser(), {"references": env.get("references", {}), "records": records, "text": text}, []
    )
    task = _TASK.match(text)
    pieces, cursor = list[Piece](), task.end() if task else 0
    markup = sorted(chain.from_iterable(_markup(text, *record) for record in records), key=lambda piece: piece.start)
    for piece in [*markup, Piece(len(text), len(text), "end")]:
        pieces += text_pieces(text, cursor, piece.start, style)
        pieces += [replace(piece, start=max(piece.start, cursor))] if piece.kind != "end" else []
        cursor = piece.end
    moved = [replace(piece, start=offsets[piece.start], end=offsets[piece.end]) for piece in pieces]
    strict = segment_of(document, moved, replace(style, is_strict=True))
    for segment, other in zip(segment_of(document, moved, style), strict, strict=True):
        source = document[segment.start : segment.end]
        yield replace(segment, write=partial(_checked, source, env, (segment.write, other.write)))
    for name, start, _, label, _ in records:
        if name == "image":
            yield from _inline(document, text[start + 2 : label], offsets[start + 2 : label + 1], env, style)


def _checked(source: str, env: Mapping[str, Any], writers: Sequence[Writer], translation: str, render: Render) -> str:
    """A translation as the first one writes it, unless it would be other markup than the source is."""
    for write in writers:
        new = write(translation, render)
        if _shape(new, env) == _shape(source, env):
            break
    return new


def _shape(text: str, env: Mapping[str, Any]) -> list[str]:
    """The blocks of a text, without the marks of those that it is in, and its inline markup in any order."""
    tokens = _parser().parse(re.sub(r"\n[\s>]*", "\n", text), {"references": dict(env.get("references", {}))})
    inline = [token for block in tokens for token in block.children or () if not token.type.startswith("text")]
    return [block.type for block in tokens] + sorted(f"{x.type} {x.attrs}" for x in inline if x.type != "softbreak")


def _markup(text: str, name: str, start: int, end: int, label: int, tokens: Sequence[Token]) -> Iterator[Piece]:
    """The pieces of what a rule has read that are no bare text."""
    kinds = {token.type for token in tokens}
    if name == "link":
        yield Piece(start, start + 1, "open", name="a")
        yield Piece(label, end, "close", name="a")
    elif name in ("image", "autolink") or "code_inline" in kinds:
        yield Piece(start, end, "alone" if name == "image" else "object")
    elif name == "html_inline":
        yield _html(text, start, end)
    elif "hardbreak" in kinds:
        yield Piece(len(text[:start].rstrip()), end + len(text[end:]) - len(text[end:].lstrip()), "break")
    elif name in ("escape", "entity") and kinds == {"text_special"}:
        [token] = tokens
        if token.content != text[start:end]:
            yield Piece(start, end, "text" if len(token.content) == 1 else "alone", token.content)
    elif name in ("emphasis", "strikethrough"):
        yield from _emphasis(start, end, tokens)


def _html(text: str, start: int, end: int) -> Piece:
    name = _NAME.match(text, start)
    if name is None or text[start:end].endswith("/>") or name[1].lower() in _VOID:
        return Piece(start, end, "break" if name and name[1].lower() == "br" else "alone")
    return Piece(start, end, "close" if text[start + 1] == "/" else "open", name=f"html {name[1].lower()}")


def _emphasis(start: int, end: int, tokens: Sequence[Token]) -> Iterator[Piece]:
    """Each mark of emphasis. Of the two characters of a strong one, the other token is empty."""
    each = -(-(end - start) // len(tokens))
    odd = each * len(tokens) - (end - start)  # 1: of three tildes the first is a text
    for n, token in enumerate(tokens):
        before = n > 0 and tokens[n - 1].type == "text" and not tokens[n - 1].content
        after = n + 1 < len(tokens) and tokens[n + 1].type == "text" and not tokens[n + 1].content
        begin, stop = start + n * each - odd, start + (n + 1) * each - odd
        if token.type.endswith("_open"):
            yield Piece(begin - before, stop, "open", name=token.type.removesuffix("_open"))
        elif token.type.endswith("_close"):
            yield Piece(begin, stop + after, "close", name=token.type.removesuffix("_close"))
