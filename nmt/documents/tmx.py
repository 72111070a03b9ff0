"""TMX: units without the target language get a `<tuv>` of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nmt.documents import bilingual, xml
from nmt.documents.segments import Segment
from nmt.documents.xml import Element
from nmt.system.errors import UserError

KEPT = frozenset(re.findall(r"\w+", "bpt ept it ph ut sub"))  # code, which a translation has as it is


def segments(document: str, languages: tuple[str, str]) -> list[Segment]:
    """The units of a TMX file without a translation. Raises `UserError` for other XML, and without the source."""
    root = next(iter(xml.parse(document).children))
    if root.name != "tmx":
        raise UserError(f"its root is <{root.name}>, not <tmx>: give a file in TMX 1.4")
    units = list(root.all("tu"))
    if units and not any(_variant(document, unit, languages[0]) for unit in units):
        codes = {_code(document, variant) for unit in units for variant in unit.all("tuv")}
        raise UserError(f"no <tuv> is in {languages[0]} (there is {', '.join(sorted(codes))}): take another model")
    return [segment for unit in units for segment in _of_unit(document, unit, languages)]


def _of_unit(document: str, unit: Element, languages: tuple[str, str]) -> Iterator[Segment]:
    """What fills the target of a unit, or adds it."""
    variant, target = (_variant(document, unit, language) for language in languages)
    source = variant.first("seg") if variant is not None else None
    if variant is None or source is None or not document[source.inner : source.close].strip():
        return
    old = target.first("seg") if target is not None else None
    if target is not None and (old is None or document[old.inner : old.close].strip()):
        return
    gap = bilingual.space_before(document, variant.start)
    begin, end = f'{gap}<tuv xml:lang="{languages[1]}"><seg>', "</seg></tuv>"
    last = list(unit.all("tuv"))[-1].end
    span = last, last
    if old is not None:
        span, begin, end = (old.start, old.end), document[old.start : old.inner].replace("/>", ">"), "</seg>"
    pieces = xml.pieces_of(document, source, KEPT)
    inner = source.inner, source.close
    yield bilingual.filled(document, span, inner, pieces, xml.STYLE, lambda text: f"{begin}{text}{end}")


def _variant(document: str, unit: Element, language: str) -> Element | None:
    """The `<tuv>` of a language: of exactly its code, or else of a region."""
    variants = [variant for variant in unit.children if variant.name == "tuv"]
    exact = [variant for variant in variants if _code(document, variant).lower() == language.lower()]
    near = [variant for variant in variants if bilingual.is_language(_code(document, variant), language)]
    return next(iter(exact or near), None)


def _code(document: str, variant: Element) -> str:
    span = variant.attributes.get("xml:lang") or variant.attributes.get("lang")
    return document[slice(*span)] if span else ""
