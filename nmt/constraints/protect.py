"""Protected spans: what comes out of a translation as it is in the source, such as placeholders and addresses.

    masked = mask("Copied %d of %s", compiled(True))        # masked.text: "Copied \\ue001 of \\ue002"
    masked.restore("\\ue001 von \\ue002 kopiert")            # "%d von %s kopiert"

A span is read and written as a mask, one character of private use that is one token (`MASKS`). Masks are numbered by
their order in the source; beyond the last one they begin anew.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import TypeAlias
from unicodedata import normalize

from nmt.system.errors import UserError
from nmt.text.tokenizers.base import MASKS
from nmt.text.vocabulary import UNK_TOKEN

Patterns: TypeAlias = bool | Sequence[str] | None
Span: TypeAlias = tuple[int, int]  # its first character, and the one behind its last

ALL = "all"  # of the patterns below
_UNITS = """[kKMGT]i?B|[kMGT]?bit/s|[kMGT]?Hz|dpi|ppi|px|pt|fps|[kcmµn]?m|[km]g|[mµn]?s|min|[km]?W|[km]?V|m?A|[mk]?Pa|
    [mc]?l|°[CF]?"""
PATTERNS = {
    # printf in C, Python, gettext and GCC (%s, %1$d, %-5.2f, %(name)s, %qE, %<word%>), strftime (%Y), Qt (%1, %L1, %n),
    # Python and ICU ({}, {0:d}, {name}, {{name}}, {n, plural, …}), shells and makefiles ($(NAME), ${NAME}, $name|)
    "placeholders": r"""%<.*?%> | %% | %L\d{1,2} | %[A-Z][A-Z0-9_]{2,}%?
      | (?<!\d)%(?!'(?:t|s|re|ve|ll)\b)(?:\d+\$)?(?:\([^()\s]+\))?[-+#'0]*(?:\d+|\*)?(?:\.(?:\d+|\*(?:\d+\$)?))?
        (?:hh|ll|I64|[hlLqjztw]{,2})?[+\#]*
        (?:[sdiuxf]|[A-Za-z](?![a-z]{2}))
      | %\d{1,2}(?!\d)
      | \{\{\s*[\w.]+\s*\}\} | \{[\w.\[\]-]*(?:![rsa])?(?::[^{}\s]*)?\}
      | \{\w+,\s*(?:number|date|time|spellout|ordinal|duration)(?:,[^{}]*)?\}
      | \{\w+,\s*(?:plural|select|selectordinal),(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}
      | \$\([A-Za-z_]\w*\) | \$\{[^{}\s]+\} | \$\[\w+\] | \$[A-Za-z_][\w.]*(?:\||\b)""",
    "urls": r"""\b(?:https?|ftps?|sftp|file|git|ssh|svn|mailto|data)://?[^\s<>"'“”„«»‘’]*[^\s<>"'“”„«»‘’.,;:!?)\]}…]
      | \bwww\.[^\s<>"'“”„«»‘’]*[^\s<>"'“”„«»‘’.,;:!?)\]}…]""",
    "emails": r"""(?<![\w.+-])\w[\w.+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?![\w-])""",
    "paths": r"""(?<![\w/.~<)-])(?:~|\.{1,2})?/(?:[\w.+@-]+/)+(?:[\w.+@-]*[\w+@-])?
      | (?<![\w/.~])(?:~|\.{1,2})/[\w.+@-]*\w
      | (?<![\w\\])[A-Za-z]:\\[\w.+@\\-]*\w
      | (?<![\w/.@<])(?:[\w-][\w.-]*/)+[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,5}(?!\w)""",
    "numbers": rf"""(?<![\w.,])\d+(?:[.,]\d+)*[\ \u00a0\u2009\u202f]?(?:{_UNITS})(?!\w)
      | (?<![\w.,])\d+(?:\.\d{{1,3}}){{2,}}(?!\w)""",
}
_MASK = re.compile(f"[{MASKS}]")  # of a text itself
# Conversions of printf that take the next argument, so that their order counts; strftime's take none.
_NEXT_ARGUMENT = re.compile(r"%[-+#'0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|ll|I64|[hlLqjztw]{,2})?[+#]*[A-Za-z]")
_TIME = re.compile("%[-0E_^]?[BbHIjMyYZ]")


@dataclass(frozen=True)
class Masked:
    """A text in which masks take the place of `spans`, in their order."""

    text: str
    spans: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each mask, and the span that it stands for."""
        return list(zip(_MASK.findall(self.text), self.spans, strict=True))

    def restore(self, pieces: Iterable[str]) -> list[str]:
        """Pieces of a translation, with spans for masks: for the n-th of equal masks the n-th span of that mask.

        Masks that are left over, such as `replace_unk` and sampling may write, are unknown words.
        """
        queues = defaultdict[str, list[str]](list)
        for character, span in reversed(self.pairs):
            queues[character].append(span)
        return [_MASK.sub(lambda m: queues[m[0]].pop() if queues[m[0]] else UNK_TOKEN, piece) for piece in pieces]


@cache
def compiled(patterns: bool | tuple[str, ...] | None) -> tuple[re.Pattern[str], ...]:
    """Expressions of spans: `True` and the name `all` are all of `PATTERNS`, one of its names is that one alone.

    Raises `ValueError` for what is no regular expression, and for one that matches the empty text.
    """
    names = patterns if isinstance(patterns, tuple) else (ALL,) if patterns else ()
    expressions = []
    for name in (n for one in names for n in (PATTERNS if one == ALL else (one,))):
        try:
            expression = re.compile(PATTERNS[name], re.VERBOSE) if name in PATTERNS else re.compile(name)
        except re.error as error:
            raise ValueError(f"{name!r} is not a regular expression ({error}); see the module re of Python") from None
        if expression.search(""):
            raise ValueError(f"{name!r} matches the empty text; write an expression that needs a character")
        expressions.append(expression)
    return tuple(expressions)


def expressions(patterns: Patterns) -> tuple[re.Pattern[str], ...]:
    """The same for any sequence; raises `UserError`."""
    try:
        return compiled(patterns if patterns is None or isinstance(patterns, bool) else tuple(patterns))
    except ValueError as error:
        raise UserError(f"protect: {error}") from None


def names_in(texts: Iterable[str], names: Iterable[str]) -> list[str]:
    """The names whose words are all in the texts, each once."""
    text = normalize("NFC", "\n".join(texts))
    stripped = dict.fromkeys(" ".join(name.split()) for name in names)
    return [name for name in stripped if name and all(word in text for word in normalize("NFC", name).split())]


def whole_words(names: Iterable[str]) -> re.Pattern[str]:
    """The expression of some names, with these capitals: as whole words, of which a compound with hyphens is one."""
    forms = {normalize(form, name) for name in names for form in ("NFC", "NFD")}
    longest_first = sorted(forms, key=lambda name: (-len(name), name))
    alternatives = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
    return re.compile(rf"(?<!\w)(?<!\w-)(?:{alternatives})(?!\w|-\w)")


def spans(text: str, patterns: Iterable[re.Pattern[str]]) -> list[Span]:
    """The protected spans of a text, from left to right, without overlaps: the first one, and of several the longest.

    Masks that the text has itself are spans, too.
    """
    every = [match.span() for pattern in (*patterns, _MASK) for match in pattern.finditer(text)]
    result: list[Span] = []
    for begin, end in sorted(every, key=lambda span: (span[0], -span[1])):
        if begin < end and (not result or result[-1][1] <= begin):
            result.append((begin, end))
    return result


def mask(text: str, patterns: Iterable[re.Pattern[str]], masks: str = MASKS, *, join: bool = False) -> Masked:
    """A text with masks for all of its spans; with `join` those that touch each other have one mask."""
    positions = spans(text, patterns)
    if join:
        joined: list[Span] = []
        for begin, end in positions:
            if joined and joined[-1][1] == begin:
                begin = joined.pop()[0]
            joined.append((begin, end))
        positions = joined
    return _masked(text, positions, masks)


def mask_pair(source: str, target: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """A training pair, in which spans that are on both sides have the same mask on both. Other spans stay text."""
    sides = [spans(text, patterns) for text in (source, target)]
    if not all(sides):
        return source, target
    texts = [[text[begin:end] for begin, end in side] for text, side in zip((source, target), sides, strict=True)]
    common = Counter(texts[0]) & Counter(texts[1])
    first, second = (_first_of(side, of_side, common) for side, of_side in zip(sides, texts, strict=True))
    masked = _masked(source, first, MASKS)
    masks = defaultdict[str, list[str]](list)
    for character, span in reversed(masked.pairs):
        masks[span].append(character)
    return masked.text, _replaced(target, second, (masks[target[begin:end]].pop() for begin, end in second))


def in_order(texts: Sequence[str]) -> list[bool]:
    """Of each span of a text whether it takes the next argument of printf, so that its order counts (not `%2$s`)."""
    is_time = any(map(_TIME.fullmatch, texts))
    return [not is_time and _NEXT_ARGUMENT.fullmatch(span) is not None for span in texts]


def _first_of(positions: Sequence[Span], texts: Sequence[str], count: Counter[str]) -> list[Span]:
    """The first occurrences of each text, as many as it counts."""
    left, first = Counter(count), []
    for position, text in zip(positions, texts, strict=True):
        if left[text] > 0:
            left[text] -= 1
            first.append(position)
    return first


def _masked(text: str, positions: Sequence[Span], masks: str) -> Masked:
    return Masked(_replaced(text, positions, cycle(masks)), tuple(text[begin:end] for begin, end in positions))


def _replaced(text: str, positions: Sequence[Span], characters: Iterator[str]) -> str:
    pieces, last = list[str](), 0
    for begin, end in positions:
        pieces += [text[last:begin], next(characters)]
        last = end
    return "".join([*pieces, text[last:]])
