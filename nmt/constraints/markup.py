"""Inline markup: tags leave a text before it is translated, and return to the translation by word alignment.

    markup = parse("Press <b>Save</b> &amp; close.")  # markup.text: "Press Save & close."
    transfer(markup, "Speichern drücken & schließen.", [(0, 1), (1, 0), (2, 2), (3, 3)])
    # "<b>Speichern</b> drücken &amp; schließen."

A tag is what the grammar of inline HTML in CommonMark 0.31 says (section 6.6, "Raw HTML"), with XML's names. Its bytes
are kept, attributes included. A pair is an opening tag and the next closing tag of its name with which it nests. A tag
without a partner stands alone if HTML or XML can mean that (`<br>`, `<img …>`, `<x/>`, `<li>`, `</b>`, a comment);
anything else in angle brackets (`a < b`, `<file>`, `<Strg>`) stays text.

The translation has each tag of the source once. Pairs nest as in the source, tags without text between keep their
order: the result is well-formed if the source is. The method is reinsertion by alignment (Joanis et al. 2013,
"Transferring markup tags in statistical machine translation: a two-stream approach"); see `projection`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from html.entities import html5
from itertools import groupby, pairwise

from jaxtyping import Float
from numpy import ndarray

from nmt.constraints.atoms import Atoms, Links, atom_weights, context_agreement, matching_cuts, weights_of
from nmt.constraints.projection import Span, project
from nmt.constraints.tags import BREAKS, pairs, stands_alone, tokens_of

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True)
class Tag:
    """A tag as it is written, the length of the plain text before it, and the white space of the source around it.

    `follows`: nothing but white space is between the previous tag and this one. `is_break`: a word ends here.
    """

    text: str
    position: int
    before: str
    after: str
    follows: bool
    is_break: bool
    is_opening: bool


@dataclass(frozen=True)
class Element:
    """A pair of tags, or one without a partner (`closing` is `opening`), and the element around it, or -1: indices."""

    opening: int
    closing: int
    parent: int


@dataclass(frozen=True)
class Markup:
    """A text without its tags and with entities decoded, and what was taken out.

    `escapes` says how characters are written: as an entity where the source has one, and bare where it has none.
    """

    text: str
    tags: tuple[Tag, ...]
    elements: tuple[Element, ...]
    escapes: Mapping[str, str]


def parse(source: str) -> Markup:
    """Separate a text from its markup. All text can be read: what is not markup is text.

    Where a tag ends a word, white space is between; where it ends a sentence, a line ends.
    """
    tokens = list(tokens_of(source))
    partners = pairs(tokens)
    kept = [n for n, token in enumerate(tokens) if n in partners or stands_alone(token)]
    edges = [0, *(edge for n in kept for edge in (tokens[n].start, tokens[n].end)), len(source)]
    pieces = [source[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]
    text, breaks, tags = "", set[str](), []
    for i, piece in enumerate(pieces):
        decoded = ENTITY.sub(_decoded, piece)
        if i and (not text or text[-1].isspace()):
            decoded = decoded.lstrip()
        if decoded.strip() or not breaks:
            text, breaks = _continued(text, breaks, decoded), set()
        if i < len(kept):
            token, after = tokens[kept[i]], pieces[i + 1]
            before = piece[len(piece.rstrip()) :], after[: len(after) - len(after.lstrip())]
            follows = i > 0 and not piece.strip()
            is_break = token.name in BREAKS
            tags.append(Tag(token.text, len(text), *before, follows, is_break, token.kind == "open"))
            breaks |= {token.name} if is_break else set()
    return Markup(text, tuple(tags), tuple(_elements(kept, partners)), _escapes(pieces))


def _continued(text: str, breaks: set[str], more: str) -> str:
    """The text with more of it, behind breaks. A line break within a sentence is a space."""
    if not breaks or not text.strip():
        return text + more
    is_within = breaks == {"br"} and more.lstrip()[0].islower() and text.rstrip()[-1] not in ".!?:"
    if not is_within:
        return text.rstrip() + "\n" + more.lstrip()
    return text + " " * (not text[-1].isspace() and not more[0].isspace()) + more


def transfer(markup: Markup, translation: str, links: Links | Float[ndarray, "T S"]) -> str:
    """The translation of `markup.text` with the markup of its source.

    `links` are pairs of a source and a target word, from 0, where words are what is between white space; or weights
    (T S) of them. Any will do: without links, tags go by position.
    """
    sequence = _placed(markup, translation, links) if markup.tags else []
    result = _written(markup, translation, sequence, markup.escapes)
    read = parse(result)  # characters that the source has bare could make new tags or entities
    tags = [markup.tags[n].text for _, _, n in sequence]
    if "".join(read.text.split()) == "".join(translation.split()) and [tag.text for tag in read.tags] == tags:
        return result
    return _written(markup, translation, sequence, {**ESCAPES, **markup.escapes})


def _elements(kept: Sequence[int], partners: Mapping[int, int]) -> Iterator[Element]:
    """The elements in the order of their first tags, which are numbered as `kept` is."""
    numbers = {n: number for number, n in enumerate(kept)}
    around: list[int] = []
    count = 0
    for number, n in enumerate(kept):
        partner = partners.get(n, n)
        if partner < n:
            around.pop()
            continue
        yield Element(number, numbers[partner], around[-1] if around else -1)
        if partner > n:
            around.append(count)
        count += 1


def _decoded(entity: re.Match[str]) -> str:
    """The characters of an entity; the entity itself if HTML has none of this name or number."""
    text = unescape(entity[0]) if entity[0][1] == "#" else html5.get(entity[0][1:], "")
    return text if text and text != "\ufffd" else entity[0]


def _escapes(pieces: Sequence[str]) -> dict[str, str]:
    """How to write characters. What is both an entity and bare in the source is bare, but for `&`, `<` and `>`."""
    entities = {_decoded(entity): entity[0] for piece in pieces for entity in ENTITY.finditer(piece)}
    bare = set("".join(ENTITY.sub(lambda e: e[0] if _decoded(e) == e[0] else "", piece) for piece in pieces))
    escapes = {text: written for text, written in ESCAPES.items() if text not in bare}
    return escapes | {c: text for c, text in entities.items() if len(c) == 1 and (c in ESCAPES or c not in bare)}


def _placed(markup: Markup, translation: str, links: Links | Float[ndarray, "T S"]) -> list[tuple[int, int, int]]:
    """The tags in the order of the result: the end of the atom before, the start of the atom after, and the number."""
    weights = weights_of(links)
    cuts = [tag.position for tag in markup.tags]
    source, target = Atoms(markup.text), Atoms(translation)
    target = Atoms(translation, matching_cuts(source, cuts, target, weights))
    source = Atoms(markup.text, cuts)
    starts = [start for start, _ in source.spans]
    indices = [bisect_left(starts, tag.position) for tag in markup.tags]
    fixed = [False] * len(markup.elements)
    for n in reversed(range(len(fixed))):
        element = markup.elements[n]
        fixed[n] = fixed[n] or indices[element.opening] == indices[element.closing]
        if fixed[n] and element.parent >= 0:
            fixed[element.parent] = True
    spans = [
        Span(
            indices[element.opening],
            indices[element.closing],
            element.parent,
            fixed[n],
            markup.tags[element.opening].is_break,
        )
        for n, element in enumerate(markup.elements)
    ]
    ranges = project(spans, atom_weights(source, target, weights), context_agreement(source, target))
    ends, begins = [0, *(end for _, end in target.spans)], [*(start for start, _ in target.spans), len(translation)]
    return [(ends[place], begins[place], n) for place, n in _sequence(markup.elements, ranges)]


def _sequence(elements: Sequence[Element], ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The position and number of each tag, from left to right."""
    children: dict[int, list[int]] = {}
    for n in sorted(range(len(elements)), key=lambda n: (*ranges[n], n), reverse=True):
        children.setdefault(elements[n].parent, []).append(n)
    stack = [(n, False) for n in children.get(-1, [])]
    while stack:
        n, is_closed = stack.pop()
        opening, closing = elements[n].opening, elements[n].closing
        if is_closed:
            yield ranges[n][1], closing
        else:
            yield ranges[n][0], opening
            stack += [(n, True)] * (closing > opening) + [(child, False) for child in children.get(n, [])]


def _written(
    markup: Markup, translation: str, sequence: Sequence[tuple[int, int, int]], escapes: Mapping[str, str]
) -> str:
    """The translation with tags, escaped."""
    table = str.maketrans(dict(escapes))
    result, cursor = [], 0
    for (end, start), places in groupby(sequence, key=lambda place: place[:2]):
        run = [n for _, _, n in places]
        result += [
            translation[cursor:end].translate(table),
            _with_spaces(markup, run, translation, (end, start), table),
        ]
        cursor = start
    return "".join([*result, translation[cursor:].translate(table)])


def _with_spaces(
    markup: Markup, run: Sequence[int], translation: str, gap: tuple[int, int], table: Mapping[int, str]
) -> str:
    """Tags in the gap between two atoms, with white space as in the source."""
    tags = [markup.tags[n] for n in run]
    end, start = gap
    space = translation[end:start]
    first, last = tags[0], tags[-1]
    is_run = all(b == a + 1 and markup.tags[b].follows for a, b in pairwise(run))
    at_edge = not translation[:end].strip() or not translation[start:].strip()
    was_at_edge = not markup.text[: last.position].strip() or not markup.text[first.position :].strip()
    inner = [b.before if m == n + 1 and b.follows else "" for (n, m), b in zip(pairwise(run), tags[1:], strict=True)]
    spaces = [first.before, *inner, last.after]
    if at_edge:
        spaces = spaces if is_run and was_at_edge else ["", *inner, ""]
    elif not space:
        spaces = [""] * len(spaces)
    elif not is_run:
        sides = [b.before or a.after for a, b in pairwise(tags)]
        options = [first.before, *(i or side for i, side in zip(inner, sides, strict=True)), last.after]
        slot = next((i for i, option in enumerate(options) if option), None)
        spaces = [option if i == slot else "" for i, option in enumerate(options)]
    if space and not any(spaces) and not any(tag.is_break for tag in tags):
        slot = next((i for i, tag in enumerate(tags) if tag.is_opening), len(tags)) if end or not start else 0
        spaces[slot] = space.translate(table)
    return "".join(part for i, tag in enumerate(tags) for part in (spaces[i], tag.text)) + spaces[-1]
