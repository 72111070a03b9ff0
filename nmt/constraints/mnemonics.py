"""Mnemonics, the underlined letters of menus: `_File`, `E&xit`, `~Save`.

The marker leaves the text before it is translated. It returns before the same letter of the word that is aligned to the
one that had it, or before that word's first letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MARKERS = "_&~"  # of GTK, of Qt and Windows, of LibreOffice
CHOICES = ("auto", *MARKERS)
ENTITY = re.compile(r"&#?\w+;")
LETTER = r"[^\W\d_]"  # a letter
LABEL = re.compile(rf"[^\w%<&~]*((?:{LETTER}|[-/'])*)[_&~]{LETTER}+(?:[-/']{LETTER}+)*[^\w%>&~=]*")
MOST_WORDS = 10  # of a text that `auto` takes for a label


@dataclass(frozen=True)
class Mnemonic:
    """A marker, the letter behind it, and the word (between white space, from 0) that the letter is in."""

    marker: str
    letter: str
    word: int


def strip(text: str, marker: str = "auto") -> tuple[str, Mnemonic | None]:
    """The text without its mnemonic, if it has exactly one, and the mnemonic.

    A marker is one of `MARKERS` before a letter or digit, and not doubled. With `auto` it is whichever the text has, if
    this can be a label: it is short, the word has letters, no digits and no `%`, and `_` is not within a name such
    as `file_name`.
    """
    candidates = _candidates(text, MARKERS if marker == "auto" else marker)
    if len(candidates) != 1 or (marker == "auto" and not _is_label(text, candidates[0])):
        return text, None
    [i] = candidates
    return text[:i] + text[i + 1 :], Mnemonic(text[i], text[i + 1], len(text[: i + 1].split()) - 1)


def insert(translation: str, mnemonic: Mnemonic, links: Iterable[tuple[int, int]]) -> str:
    """The translation with the mnemonic; as it is if it has one, or no letter. `links` are between words."""
    words = [match.span() for match in re.finditer(r"\S+", translation)]
    if _candidates(translation, mnemonic.marker) or not re.search(r"[^\W_]", translation):
        return translation
    linked = [words[t] for s, t in sorted(links) if s == mnemonic.word and 0 <= t < len(words)]
    nearest = sorted(words, key=lambda span: abs(words.index(span) - mnemonic.word))
    spans = [span for span in (*linked, *nearest) if re.search(r"[^\W_]", translation[slice(*span)])]
    same = [at for span in linked for at in [_same_letter(translation, span, mnemonic.letter)] if at is not None]
    start, end = spans[0]
    first = next(i for i in range(start, end) if re.match(r"[^\W_]", translation[i]))
    at = same[0] if same else first
    return translation[:at] + mnemonic.marker + translation[at:]


def _candidates(text: str, markers: str) -> list[int]:
    """The positions of single markers before a letter or digit, entities left out."""
    places = [match.start() for match in re.finditer(rf"(?<![{markers}])[{markers}](?=[^\W_])", text)]
    return [i for i in places if not ENTITY.match(text, i)]


def _is_label(text: str, i: int) -> bool:
    start = max(text.rfind(space, 0, i) for space in " \t\n") + 1
    match = LABEL.fullmatch(text[start:].split()[0])
    if match is None or len(text.split()) > MOST_WORDS:
        return False
    return text[i] != "_" or not match[1] or match[1][0].isupper()


def _same_letter(text: str, span: tuple[int, int], letter: str) -> int | None:
    """The first place of a letter in a word, best with the same case."""
    word = text[slice(*span)]
    at = word.find(letter) if letter in word else word.lower().find(letter.lower())
    return span[0] + at if at >= 0 else None
