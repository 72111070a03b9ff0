"""Tags in a text: what is one, and which two are a pair.

The grammar is that of inline HTML in CommonMark 0.31 (section 6.6, "Raw HTML"), with XML's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TAG = re.compile(
    r"""<(?P<open>[A-Za-z_][\w:.-]*+)
          (?:(?:\s++|(?<=["']))[A-Za-z_:][\w:.-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?+)*+
          \s*+(?P<slash>/?)>
      | </(?P<close>[A-Za-z_][\w:.-]*+)\s*+>
      | <!--.*?--> | <\?.*?\?> | <![A-Za-z][^<>]*> | <!\[CDATA\[.*?\]\]>""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
UNTRANSLATED = re.compile(r"<(script|style)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
BREAKS = frozenset(  # elements at which a word ends
    re.findall(
        r"\w+",
        """address article aside blockquote body br caption center col colgroup dd details dialog div dl dt fieldset
        figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li link main meta nav ol option p
        pre script section select style summary table tbody td tfoot th thead title tr ul""",
    )
)
INLINE = frozenset(
    re.findall(
        r"\w+",
        """a abbr acronym b bdi bdo big button cite code data del dfn em font i ins kbd label mark meter nobr object
        output progress q ruby rb rp rt s samp small span strike strong sub sup svg textarea time tt u var video""",
    )
)


class Token(NamedTuple):
    """What looks like a tag, from `start` to `end` in the source."""

    start: int
    end: int
    kind: str  # open, close, or alone
    name: str
    text: str


def tokens_of(source: str) -> Iterator[Token]:
    position = 0
    while match := TAG.search(source, position):
        if whole := UNTRANSLATED.match(source, match.start()):
            yield Token(*whole.span(), "alone", whole[1].lower(), whole[0])
        elif name := match["open"]:
            yield Token(*match.span(), "alone" if match["slash"] else "open", name.lower(), match[0])
        else:
            yield Token(*match.span(), "close" if match["close"] else "alone", (match["close"] or "").lower(), match[0])
        position = (whole or match).end()


def pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """The partner of each tag that has one, in both directions. What a pair would cross has none."""
    partners: dict[int, int] = {}
    stack: list[int] = []
    unclosed: dict[str, int] = {}  # how many tags of a name are on the stack
    for n, token in enumerate(tokens):
        if token.kind == "open":
            stack.append(n)
            unclosed[token.name] = unclosed.get(token.name, 0) + 1
        elif token.kind == "close" and unclosed.get(token.name):
            opening = None
            while opening is None or tokens[opening].name != token.name:
                opening = stack.pop()
                unclosed[tokens[opening].name] -= 1
            partners |= {opening: n, n: opening}
    return partners


def stands_alone(token: Token) -> bool:
    """Whether a tag without a partner is a tag, and not text in angle brackets."""
    if token.kind != "open" or token.name in VOID or "=" in token.text:
        return True
    return token.name in BREAKS | INLINE and not re.search(r"\s", token.text)
