"""XML with the offsets of its elements. Expat checks it; entities of its own, which may be bombs, are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from nmt.documents.inline import HTML, Piece, Style, text_pieces
from nmt.system.errors import UserError

STYLE = Style(HTML)
ATTRIBUTES = str.maketrans(HTML | {'"': "&quot;"})
_OPENING, _CLOSING = ("bpt", "bx", "sc"), ("ept", "ex", "ec")  # elements that begin and end a span
_PAIRED = (*_OPENING, *_CLOSING)
_PAIR_NUMBERS = ("i", "rid", "startRef", "id")  # attributes with the number that both have
DEEPEST = 200
_TOKEN = re.compile(
    r"""<!--.*?--> | <\?.*?\?> | <!\[CDATA\[.*?\]\]> | <!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>
      | <(?P<slash>/?)(?P<name>[^\s/>]+)(?P<attributes>(?:[^"'>]|"[^"]*"|'[^']*')*?)(?P<alone>/?)> | (?P<text>[^<]+)""",
    re.VERBOSE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass
class Element:
    """An element from `start` to `end`; what is in it from `inner` to `close`. Names have no prefix.

    `attributes` are spans of values, by names with prefixes.
    """

    start: int
    inner: int
    name: str
    prefix: str
    attributes: dict[str, tuple[int, int]]
    children: list[Element] = field(default_factory=list)
    close: int = 0
    end: int = 0

    def all(self, *names: str) -> Iterator[Element]:
        """The elements of these names in it, in the order of the document."""
        stack = self.children[::-1]
        while stack:
            element = stack.pop()
            if element.name in names:
                yield element
            stack += element.children[::-1]

    def first(self, name: str) -> Element | None:
        """The first child of a name."""
        return next((child for child in self.children if child.name == name), None)


def parse(document: str) -> Element:
    """What holds the root of a document. Raises `UserError` for what is not well-formed, not UTF-8, or has entities."""
    _check(document)
    stack = [Element(0, 0, "", "", {}, close=len(document), end=len(document))]
    for token in _TOKEN.finditer(document):
        if token["name"] is None:
            continue
        if token["slash"]:
            element = stack.pop()
            element.close, element.end = token.span()
            continue
        prefix, _, name = token["name"].rpartition(":")
        attributes = {
            match[1]: match.span(2 if match[2] is not None else 3)
            for match in _ATTRIBUTE.finditer(document, *token.span("attributes"))
        }
        element = Element(token.start(), token.end(), name, prefix and f"{prefix}:", attributes)
        element.close = element.end = token.end()
        stack[-1].children.append(element)
        if not token["alone"]:
            stack.append(element)
        if len(stack) > DEEPEST:
            raise UserError(f"its elements are nested more than {DEEPEST} deep: give another file")
    return stack[0]


def _check(document: str) -> None:
    def refuse(name: str, *_: object) -> None:
        raise UserError(f"it declares the entity {name}, which may be a bomb or a file: write the text itself")

    def declared(_: str, encoding: str | None, __: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            raise UserError(f"it declares the encoding {encoding}: save the file as UTF-8")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler, parser.XmlDeclHandler = refuse, declared
    try:
        parser.Parse(document.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise UserError(
            f"line {error.lineno}: not well-formed XML ({reason}): save it anew with the program that wrote it"
        ) from None


def pieces_of(document: str, element: Element, kept: frozenset[str]) -> Iterator[Piece]:
    """The pieces of what is in an element: text, and inline elements, of which some are `kept` with their content."""
    cursor = element.inner
    for child in element.children:
        yield from _texts(document, cursor, child.start)
        cursor = child.end
        values = {
            document[slice(*child.attributes[name])] for name in ("translate", "mtype") if name in child.attributes
        }
        if child.name in _PAIRED:
            number = next(
                (document[slice(*span)] for name in _PAIR_NUMBERS if (span := child.attributes.get(name))), ""
            )
            yield Piece(child.start, child.end, "open" if child.name in _OPENING else "close", name=f"pair {number}")
        elif child.name in kept or child.end == child.inner or values & {"no", "protected"}:
            is_word = child.name in ("ph", "x", "it") or child.name not in kept
            yield Piece(child.start, child.end, "object" if is_word else "alone")
        else:
            yield Piece(child.start, child.inner, "open", name=child.name)
            yield from pieces_of(document, child, kept)
            yield Piece(child.close, child.end, "close", name=child.name)
    yield from _texts(document, cursor, element.close)


def _texts(document: str, start: int, end: int) -> Iterator[Piece]:
    for token in _TOKEN.finditer(document, start, end):
        if token["text"]:
            yield from text_pieces(document, *token.span(), STYLE)
        else:
            yield Piece(*token.span(), "alone")


def with_attribute(document: str, element: Element, name: str, value: str) -> str:
    """The opening tag of an element with an attribute set to a value, without `/>`."""
    text = document[element.start : element.inner]
    escaped = value.translate(ATTRIBUTES)
    if span := element.attributes.get(name):
        start, end = (edge - element.start for edge in span)
        text = text[:start] + escaped + text[end:]
        return re.sub(r"\s*/>$", ">", text)
    return re.sub(r"\s*/?>$", f' {name}="{escaped}">', text)
