"""Text as people type it, in other case, punctuation and letters."""

from __future__ import annotations

import re
from random import Random

_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_LAST_MARK = re.compile(r"\s*[.!?]+$")
ENDS = ("!", "!!", "!!!", "...")
_MARKS = re.compile(r"(?<!\w)[^\w\s]+|[^\w\s]+(?!\w)")  # not those inside a word, as in "T-Shirt" and "dog's"


def with_typos(text: str, language: str, probability: float, chance: Random) -> str:
    """The text, each with this probability: lower-cased; in equal shares without its last punctuation mark, without
    any, or with one of `ENDS` at its end; in German, with ae, oe, ue and ss for ä, ö, ü and ß; and in capitals.
    """
    if chance.random() < probability:
        text = text.lower()
    if chance.random() < probability:
        text = chance.choice((without_last_mark, without_marks, lambda text: with_end(text, chance.choice(ENDS))))(text)
    if chance.random() < probability and language == "de":
        text = in_ascii(text)
    if chance.random() < probability:
        text = text.upper()
    return text


def without_last_mark(text: str) -> str:
    """The text without the full stop, exclamation or question mark at its end."""
    return _LAST_MARK.sub("", text) or text


def with_end(text: str, end: str) -> str:
    """The text with this at its end, in the place of a full stop, exclamation or question mark if one is there."""
    return without_last_mark(text) + end


def without_marks(text: str) -> str:
    """The text without punctuation, except for that inside words."""
    return " ".join(_MARKS.sub(" ", text).split()) or text


def in_ascii(text: str) -> str:
    """German text with ae, oe, ue and ss for ä, ö, ü and ß."""
    return text.translate(_GERMAN)
