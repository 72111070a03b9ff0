"""Terms and their translations, and where terms are in a sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.corpus import plain_lines

CASE = "case"  # the third column of a term whose capitals count
_WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")  # a compound with hyphens is one word


@dataclass(frozen=True)
class Term:
    """A term, and its translations: alternatives, such as inflected forms, of which one must be written."""

    source: str
    targets: tuple[str, ...]
    case: bool = False  # whether the source must have the same capitals


@dataclass(frozen=True)
class Match:
    """A term in a text: its characters are `text[begin:end]`."""

    term: Term
    begin: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Terms, at most one for each source and case."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Glossary:
        """The terms of a file of tab-separated columns: source, target, and `case` where capitals count.

        Alternatives of the target are separated by `|`; several lines with the same source are alternatives, too. Empty
        lines and those that begin with `#` are skipped. Raises `UserError` as `plain_lines` does, and for a line that
        is not such a line.
        """
        terms = []
        for number, line in enumerate(plain_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            source, *columns = (column.strip() for column in line.split("\t"))
            targets = tuple(target.strip() for target in columns[0].split("|")) if columns else ()
            if not source or not targets or not all(targets):
                advice = "write a source term, a tab, and its translation (alternatives are separated by |)"
                raise UserError(f"{path}, line {number}: not two columns with text; {advice}")
            if columns[1:] not in ([], [""], [CASE]):
                raise UserError(
                    f"{path}, line {number}: the third column can only be `{CASE}`, for terms whose capitals count"
                )
            terms.append(Term(source, targets, columns[1:] == [CASE]))
        return cls.of(terms)

    @classmethod
    def of(cls, terms: Iterable[Term] | Mapping[str, str | Sequence[str]]) -> Glossary:
        """The glossary of some terms, or of a mapping of sources to a translation or to alternatives."""
        if isinstance(terms, Mapping):
            terms = [Term(source, (to,) if isinstance(to, str) else tuple(to)) for source, to in terms.items()]
        merged: dict[tuple[tuple[str, ...], bool], Term] = {}
        for term in terms:
            key = _words(term.source, term.case), term.case
            before = merged.get(key)
            targets = term.targets if before is None else tuple(dict.fromkeys(before.targets + term.targets))
            merged[key] = replace(term, targets=targets)
        return cls(tuple(merged.values()))

    def matches(self, text: str) -> list[Match]:
        """Where terms are in a text, as whole words: from left to right, the longest first, without overlaps."""
        spans = [match.span() for match in _WORD.finditer(text)]
        words = {case: [_form(text[begin:end], case) for begin, end in spans] for case in (True, False)}
        matches, n = [], 0
        while n < len(spans):
            length, term = next(self._at(words, n), (1, None))
            if term is not None:
                matches.append(Match(term, spans[n][0], spans[n + length - 1][1]))
            n += length
        return matches

    def _at(self, words: Mapping[bool, Sequence[str]], n: int) -> Iterator[tuple[int, Term]]:
        for length in self._lengths:
            for case in (True, False):
                key = tuple(words[case][n : n + length]), case
                if len(key[0]) == length and key in self._index:
                    yield length, self._index[key]

    @cached_property
    def _index(self) -> dict[tuple[tuple[str, ...], bool], Term]:
        return {(_words(term.source, term.case), term.case): term for term in self.terms}

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(words) for words, _ in self._index}, reverse=True)


def respelled(translation: Translation, terms: Glossary) -> Translation:
    """A translation by a model without capitals, with those that its terms have."""
    words = {target.lower(): target for term in terms.terms for target in term.targets if target != target.lower()}
    longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    if not words:
        return translation
    return replace(
        translation,
        text=re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", lambda match: words[match[0]], translation.text),
        n_best=tuple(respelled(one, terms) for one in translation.n_best),
        sentences=tuple(respelled(one, terms) for one in translation.sentences),
    )


def _words(text: str, case: bool) -> tuple[str, ...]:
    return tuple(_form(word, case) for word in _WORD.findall(text))


def _form(word: str, case: bool) -> str:
    word = unicodedata.normalize("NFC", word)
    return word if case else word.casefold()
