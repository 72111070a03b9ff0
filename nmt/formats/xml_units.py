"""TMX 1.4, XLIFF 1.2 and 2.0, read by expat unit by unit: a tree of one unit at a time is in memory.

Inline elements: native code is part of the text, so that `<ph>%s</ph>` is `%s` and `<bpt>&lt;b&gt;</bpt>` is `<b>`, as
the program has it; XLIFF 2's comes from `<originalData>`. Elements without code leave their content alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import IO, Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmt.formats.columns import canonical, choose
from nmt.formats.opening import CHUNK, opened
from nmt.formats.paths import Address
from nmt.system.errors import UserError

UNITS = {"tu", "trans-unit", "unit"}
LONGEST, DEEPEST, MOST = 1 << 22, 100, 10_000  # bytes, depth and number of elements of a unit
_CONTROL = re.compile("00[01][0-9A-Fa-f]")
UNTRANSLATED = {"new", "needs-translation"}  # states of XLIFF 1.2: the target is a copy of the source


def texts(address: Address) -> Iterator[str]:
    """The texts of one language, or of `source` or `target` in XLIFF, one per unit (in XLIFF 2 per segment).

    Raises `UserError` for XML that is not well-formed, declares entities, or has units of more than `LONGEST` bytes.
    """
    stat = address.path.stat() if address.path.is_file() else None
    names = _names(replace(address, column=None), stat and (stat.st_size, stat.st_mtime_ns))
    name = names[choose(address, names)]
    for unit, header in _units(address):
        for texts_of_unit in _texts(unit, header):
            yield texts_of_unit.get(canonical(name), "")


@lru_cache(maxsize=64)
def _names(address: Address, _: object) -> list[str]:
    """The languages of a file, in its order, and for XLIFF `source` and `target`."""
    names: dict[str, str] = {}
    for unit, header in _units(address):
        if unit.tag == "tu":
            codes = [_code(variant) for variant in unit.iterfind("tuv")]
        else:
            codes = [*filter(None, _languages(header)), "source", "target"]
        for code in codes:
            names.setdefault(canonical(code), code)
    if not names:
        raise UserError(f"{address} has no units: give a TMX or XLIFF file that holds some")
    return list(names.values())


def _languages(header: dict[str, str]) -> tuple[str, str]:
    """The languages of an XLIFF file's source and target."""
    source = header.get("source-language") or header.get("srcLang", "")
    return source, header.get("target-language") or header.get("trgLang", "")


def _code(variant: Element) -> str:
    return variant.get("xml:lang") or variant.get("lang") or ""


def _texts(unit: Element, header: dict[str, str]) -> Iterator[dict[str, str]]:
    """The texts of a unit, or of each of its segments, by language in canonical form."""
    if unit.tag == "tu":
        pairs = ((_code(variant), variant.find("seg")) for variant in reversed(unit.findall("tuv")))
        yield {canonical(code): _text(segment) for code, segment in pairs}  # of several in a language the first
        return
    codes = {data.get("id", ""): "".join(data.itertext()) for data in unit.iterfind("originalData/data")}
    for segment in [unit] if unit.tag == "trans-unit" else unit.iter("segment"):
        source, target = segment.find("source"), segment.find("target")
        is_new = target is not None and target.get("state") in UNTRANSLATED
        both = (_text(source, codes), "" if is_new else _text(target, codes))
        names = zip((*map(canonical, _languages(header)), "source", "target"), both * 2, strict=True)
        yield dict(reversed([*names]))


def _text(element: Element | None, codes: dict[str, str] | None = None) -> str:
    """The text of an element with native codes."""
    if element is None:
        return ""
    if not len(element):
        return element.text or ""
    codes, pieces = codes or {}, [element.text or ""]
    for child in element:
        get = child.attrib.get
        before = codes.get(get("dataRef") or get("dataRefStart") or "", get("equiv-text") or get("equiv") or "")
        if _CONTROL.fullmatch(get("hex", "")):  # a character that XML does not have
            before = chr(int(get("hex", ""), 16))
        pieces += [before, _text(child, codes), codes.get(get("dataRefEnd") or "", ""), child.tail or ""]
    return "".join(pieces)


class _Parser:
    """Builds a tree of each unit, and of nothing else."""

    def __init__(self) -> None:
        self.builder: TreeBuilder | None = None
        self.header: dict[str, str] = {}
        self.units: list[tuple[Element, dict[str, str]]] = []
        self.depth = self.size = self.elements = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if self.builder is None and tag in UNITS:
            self.builder, self.size, self.elements = TreeBuilder(), 0, 0
        if self.builder is not None:
            self.builder.start(tag, attributes)
            self.depth, self.elements = self.depth + 1, self.elements + 1
            if self.depth > DEEPEST or self.elements > MOST:
                limits = f"{DEEPEST} levels or {MOST:,} elements"
                raise UserError(f"a unit of more than {limits}: give one text per unit")
        else:
            self.size = 0
            if tag in ("xliff", "file"):
                self.header = self.header | attributes

    def text(self, data: str) -> None:
        if self.builder is not None:
            self.builder.data(data)
        else:
            self.size = 0

    def end(self, tag: str) -> None:
        if self.builder is None:
            return
        element = self.builder.end(tag.rpartition(":")[2])
        self.depth -= 1
        if self.depth == 0:
            self.units.append((element, self.header))
            self.builder, self.size = None, 0

    def refuse_entity(self, name: str, *_: Any) -> None:
        raise UserError(f"it declares or uses the entity {name[:40]}: write the text itself, without entities")


def _units(address: Address) -> Iterator[tuple[Element, dict[str, str]]]:
    """Each unit with the attributes of the elements `xliff` and `file` before it."""
    with opened(address.path) as file:
        parser, handlers = expat.ParserCreate(), _Parser()
        parser.StartElementHandler, parser.EndElementHandler = handlers.start, handlers.end
        parser.CharacterDataHandler, parser.buffer_text = handlers.text, True
        parser.EntityDeclHandler = parser.SkippedEntityHandler = handlers.refuse_entity
        try:
            yield from _parse(file, parser, handlers)
        except expat.ExpatError as error:
            reason = f"not well-formed XML ({expat.ErrorString(error.code)})"
            raise UserError(f"{address}, line {error.lineno}: {reason}: check the file and its encoding") from None
        except (UserError, LookupError, ValueError) as error:  # the latter of encodings
            raise UserError(f"{address}, line {parser.CurrentLineNumber}: {error}") from None


def _parse(file: IO[bytes], parser: Any, handlers: _Parser) -> Iterator[tuple[Element, dict[str, str]]]:
    while True:
        chunk = file.read(CHUNK)
        handlers.size += len(chunk)
        parser.Parse(chunk, not chunk)
        yield from handlers.units
        handlers.units.clear()
        if not chunk:
            return
        if handlers.size > LONGEST:
            raise UserError(f"a unit or tag of more than {LONGEST:,} bytes: give one text per unit")
