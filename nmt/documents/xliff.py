"""XLIFF 1.2 and 2.0: targets that are missing or empty are filled from their sources.

Version 1.2 says `state="needs-review-translation"` of a target, 2.0 says `state="translated"` of a segment. A target of
a state that asks for a translation (`new`, `needs-translation`) is replaced, any other is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nmt.documents import bilingual, xml
from nmt.documents.segments import Segment, replacement
from nmt.documents.xml import Element
from nmt.system.errors import UserError

KEPT = frozenset(
    re.findall(r"\w+", "ph bpt ept it x bx ex sc ec cp sm em ut")
)  # code, which a translation has as it is
_FILLED = "needs-review-translation"
_UNTRANSLATED = ("new", "needs-translation")


def segments(document: str, languages: tuple[str, str]) -> list[Segment]:
    """The sources of an XLIFF file without a target. Raises `UserError` for other XML and other languages."""
    root = next(iter(xml.parse(document).children))
    if root.name != "xliff":
        raise UserError(f"its root is <{root.name}>, not <xliff>: give a file in XLIFF 1.2 or 2.0")
    is_new = not _value(document, root, "version").startswith("1.")
    result: list[Segment] = []
    for file in [root] if is_new else root.all("file"):
        of_file = list(_of_file(document, file, is_new))
        names = ("srcLang", "trgLang") if is_new else ("source-language", "target-language")
        for name, language in zip(names, languages, strict=True):
            bilingual.check_language(name, _value(document, file, name), language)
        if of_file and not _value(document, file, names[1]):
            tag = xml.with_attribute(document, file, names[1], languages[1])
            result.append(replacement(file.start, file.inner, tag))
        result += of_file
    return result


def _of_file(document: str, file: Element, is_new: bool) -> Iterator[Segment]:
    for unit in file.all("unit" if is_new else "trans-unit"):
        if _value(document, unit, "translate") == "no":
            continue
        for pair in unit.all("segment") if is_new else [unit]:
            yield from _of_pair(document, pair, is_new)


def _of_pair(document: str, pair: Element, is_new: bool) -> Iterator[Segment]:
    """What fills the target of an element with a source."""
    source, target = pair.first("source"), pair.first("target")
    if source is None or not document[source.inner : source.close].strip():
        return
    state = _value(document, target, "state") if target is not None else ""
    if target is not None and document[target.inner : target.close].strip() and state not in _UNTRANSLATED:
        return
    if is_new and _value(document, pair, "state") in ("", "initial"):
        yield replacement(pair.start, pair.inner, xml.with_attribute(document, pair, "state", "translated"))
    last = pair.first("seg-source") or source
    name = f"{source.prefix}target"
    if target is None:
        gap, span = bilingual.space_before(document, source.start), (last.end, last.end)
        begin = gap + (f"<{name}>" if is_new else f'<{name} state="{_FILLED}">')
    elif is_new:
        span, begin = (target.start, target.end), document[target.start : target.inner].replace("/>", ">")
    else:
        span, begin = (target.start, target.end), xml.with_attribute(document, target, "state", _FILLED)
    pieces = xml.pieces_of(document, source, KEPT)
    yield bilingual.filled(
        document, span, (source.inner, source.close), pieces, xml.STYLE, lambda text: f"{begin}{text}</{name}>"
    )


def _value(document: str, element: Element, name: str) -> str:
    span = element.attributes.get(name)
    return document[slice(*span)] if span else ""
