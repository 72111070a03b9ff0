"""Paragraphs of Word as texts. The look that most of a paragraph has is plain.

Runs of another look, and links, are tags around their words. Tabs, line breaks, pictures, references and whole fields
are tags that stand alone. What is between two items of a paragraph (ends and beginnings of runs, of links, …) is kept
where these are neighbours in the translation, too, and is made anew where they are not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile

from nmt.documents import xml
from nmt.documents.inline import Piece, encoded, paired, parts_of, placed, raw_characters, text_pieces
from nmt.documents.segments import Render, Segment
from nmt.documents.xml import Element

_CONTAINERS = frozenset(re.findall(r"\w+", "r hyperlink ins smartTag sdt sdtContent fldSimple bdo dir moveTo"))
_INERT = frozenset(re.findall(r"\w+", "proofErr lastRenderedPageBreak rPr pPr sdtPr sdtEndPr"))


@dataclass(frozen=True)
class _Item:
    """A text in a paragraph (`<w:t>`), or an element that stands for itself, such as a tab, or several: a field.

    `outer` are the elements around its beginning, from the paragraph's child on, and `outer_end` those around its end.
    Texts of the same `look` look alike.
    """

    number: int
    element: Element
    end: int
    outer: tuple[Element, ...]
    outer_end: tuple[Element, ...]
    look: str

    @property
    def is_text(self) -> bool:
        return self.element.name == "t"


def _leaves(
    document: str, element: Element, outer: tuple[Element, ...]
) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Texts and elements that stand for themselves, with the elements around them."""
    for child in element.children:
        if child.name in _CONTAINERS:
            yield from _leaves(document, child, (*outer, child))
        elif child.name not in _INERT and (child.name != "t" or child.inner < child.close):
            yield child, outer


def _items(document: str, paragraph: Element) -> Iterator[_Item]:
    leaves = list(_leaves(document, paragraph, ()))
    kinds = [document[slice(*leaf.attributes.get("w:fldCharType", (0, 0)))] for leaf, _ in leaves]
    depths = list(accumulate((kind == "begin") - (kind == "end") for kind in kinds))
    n = number = 0
    while n < len(leaves):
        leaf, outer = leaves[n]
        last = n
        if kinds[n] == "begin":
            before = depths[n] - 1
            last = next((m for m in range(n, len(leaves)) if depths[m] == before), n)
        yield _Item(number, leaf, leaves[last][0].end, outer, leaves[last][1], _look(document, outer))
        n, number = last + 1, number + 1


def _look(document: str, outer: Sequence[Element]) -> str:
    """What decides how a text looks: the properties of its run, and what is around that."""
    properties = [document[p.start : p.end] for element in outer[-1:] if (p := element.first("rPr"))]
    return " ".join([*(str(element.start) for element in outer[:-1]), *properties])


class Paragraph:
    """A paragraph's text as pieces, and what writes its translation.

    Texts of another look than most have are in groups, with tags around each.
    """

    def __init__(self, document: str, element: Element) -> None:
        self._document = document
        items = list(_items(document, element))
        texts = [item.number for item in items if item.is_text and self._inner(item).strip()]
        self._items = items[texts[0] : texts[-1] + 1] if texts else []
        self._texts = {item.number: self._text_pieces(item) for item in self._items if item.is_text}
        self._lengths = {number: sum(len(x.text) for x in pieces) for number, pieces in self._texts.items()}
        looks = Counter[str]()
        for item in self._items:
            looks[item.look] += self._lengths.get(item.number, 0)
        self._base = max(looks, key=lambda look: looks[look], default="")
        self._groups: dict[int, list[_Item]] = {-1: []}  # texts by the offset of their group, -1: of none
        self._pieces = paired(self._grouped())

    def segments(self) -> Iterator[Segment]:
        """The paragraph from its first text to its last one, if there are letters in it."""
        if any(map(str.isalpha, "".join(piece.text for piece in self._pieces))):
            text, has_tags = encoded(self._pieces)
            yield Segment(self._items[0].element.start, self._items[-1].end, text, self._write, has_tags)

    def _inner(self, item: _Item) -> str:
        return self._document[item.element.inner : item.element.close]

    def _text_pieces(self, item: _Item) -> list[Piece]:
        """The pieces of a text, without white space at the edges of the paragraph's text."""
        start, end, text = item.element.inner, item.element.close, self._inner(item)
        start += (len(text) - len(text.lstrip())) * (item is self._items[0])
        end -= (len(text) - len(text.rstrip())) * (item is self._items[-1])
        return list(text_pieces(self._document, start, end, xml.STYLE))

    def _grouped(self) -> Iterator[Piece]:
        """The pieces of all items, with tags around groups, which are spans of no length."""
        group, start = self._base, -1
        for n, item in enumerate(self._items):
            following = next(other.look for other in self._items[n:] if other.is_text)
            look = item.look if item.is_text else group if group == following else self._base
            at = item.element.start
            if look != group:
                if group != self._base:
                    yield Piece(at, at, "close", name="group")
                if look != self._base:
                    yield Piece(at, at, "open", name="group")
                group, start = look, -1 if look == self._base else at
            if item.is_text:
                self._groups.setdefault(start, []).append(item)
                yield from self._texts[item.number]
            else:
                is_line_end = item.element.name in ("tab", "br") and "w:type" not in item.element.attributes
                is_field = item.end != item.element.end
                yield Piece(at, item.end, "break" if is_line_end else "object" if is_field else "alone")
        if group != self._base:
            yield Piece(self._items[-1].end, self._items[-1].end, "close", name="group")

    def _write(self, translation: str, render: Render) -> str:
        texts, tags = parts_of(translation) if encoded(self._pieces)[1] else ([translation], [])
        characters = iter(raw_characters(self._document, self._pieces, xml.STYLE, "".join(texts)))
        groups, elements, group = list[int](), list[tuple[_Item, str] | None](), -1
        by_start = {item.element.start: item for item in self._items}
        for tag in placed(self._pieces, tags):
            groups.append(group)
            if tag.start == tag.end:
                group = tag.start if tag.kind == "open" else -1
            elements.append((by_start[tag.start], render(tag.start, tag.end)) if tag.start < tag.end else None)
        contents = [list(islice(characters, len(text))) for text in texts]
        shared = self._shared([*groups, group], contents)
        events = [event for some, element in zip(shared, [*elements, None], strict=True) for event in [*some, element]]
        return self._assembled(_merged([event for event in events if event is not None]))

    def _shared(self, groups: Sequence[int], contents: Sequence[list[str]]) -> Iterator[list[tuple[_Item, str]]]:
        """Contents as parts of the texts of their groups: each text has the share of characters that it has now."""
        totals, written = Counter[int](), Counter[int]()
        for group, content in zip(groups, contents, strict=True):
            totals[group] += len(content)
        for group, content in zip(groups, contents, strict=True):
            texts = self._groups[group] or self._items[:1]
            ends = list(accumulate(self._lengths[item.number] for item in texts))
            parts: dict[int, list[str]] = {}
            for character in content:
                n = bisect_right(ends, written[group] * ends[-1] // totals[group])
                parts.setdefault(min(n, len(texts) - 1), []).append(character)
                written[group] += 1
            yield [(texts[n], "".join(part)) for n, part in parts.items()]

    def _assembled(self, events: Sequence[tuple[_Item, str]]) -> str:
        """Texts and elements in their new order, with the runs and links that they need."""
        first, last = self._items[0], self._items[-1]
        lead, tail = self._inner(first), self._inner(last)
        lead, tail = lead[: len(lead) - len(lead.lstrip())], tail[len(tail.rstrip()) :]
        texts = [n for n, (item, _) in enumerate(events) if item.is_text]
        result, before = list[str](), None
        for n, (item, text) in enumerate(events):
            if before is None:
                result.append("" if item is first else self._between(first.outer, item.outer))
            elif item.number == before.number + 1:
                result.append(self._document[before.end : item.element.start])
            else:
                result.append(self._between(before.outer_end, item.outer))
            edged = lead * (n == texts[0]) + text + tail * (n == texts[-1])
            result.append(self._text(item, edged) if item.is_text else text)
            before = item
        if before is not None and before is not last:
            result.append(self._between(before.outer_end, last.outer_end))
        return "".join(result)

    def _between(self, outer: Sequence[Element], new: Sequence[Element]) -> str:
        """What ends the elements around one item, and begins those around another."""
        common = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(outer, new, strict=False)))
        parts = [f"</{element.prefix}{element.name}>" for element in reversed(outer[common:])]
        for element in new[common:]:
            parts.append(self._document[element.start : element.inner])
            parts += [self._document[x.start : x.end] for name in ("rPr", "sdtPr") if (x := element.first(name))]
        return "".join(parts)

    def _text(self, item: _Item, text: str) -> str:
        """A text element. White space at its edges counts only with an attribute."""
        element = item.element
        begin, old = self._document[element.start : element.inner], self._inner(item)
        if text != text.strip() and old == old.strip() and "xml:space" not in element.attributes:
            begin = xml.with_attribute(self._document, element, "xml:space", "preserve")
        return begin + text + self._document[element.close : element.end]


def _merged(events: Sequence[tuple[_Item, str]]) -> list[tuple[_Item, str]]:
    """Texts and elements, with consecutive texts of the same look as one unless they are neighbours in the source."""
    merged: list[tuple[_Item, str]] = []
    for item, text in events:
        before = merged[-1][0] if merged else item
        is_alike = bool(merged) and item.is_text and before.is_text and item.look == before.look
        if is_alike and item.number != before.number + 1:
            merged[-1] = before, merged[-1][1] + text
        else:
            merged.append((item, text))
    return merged
