"""Values of unknown origin: whether they can be used at all, and how they are shown in a message."""

import reprlib
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain
from typing import Any

from nmt.system.errors import UserError

LONGEST_STRING = 10_000  # characters: no path or name is as long
_PLAIN = (str, int, float, bytes, date, type(None))  # a date and bytes are refused by the field, by its name
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can write the text: it cannot write halves of characters (surrogates)."""
    return text.encode(errors="ignore").decode() == text


def sentences_of(function: str, *texts: Iterable[str]) -> list[list[str]]:
    """A function's arguments as lists, each of as many strings.

    Raises TypeError for anything but iterables of strings, such as one string, and `UserError` if the numbers differ.
    """
    lists = [list(text) if isinstance(text, Iterable) and not isinstance(text, str) else [None] for text in texts]
    if not all(isinstance(sentence, str) for sentence in chain(*lists)):
        raise TypeError(f"{function} takes lists of sentences, each of them a string")
    counts = " and ".join(str(len(sentences)) for sentences in lists)
    if len(set(map(len, lists))) > 1:
        raise UserError(f"{function}: lists of {counts} sentences: give one target for each source")
    return lists  # type: ignore[return-value]


def shown(value: object) -> str:
    """A value as it stands in a message: quoted, and no longer than a few words."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"<{type(value).__name__} instance>"


def unusable(value: Any, path: str = "") -> Iterator[str]:
    """What no field can hold, in nested dictionaries and lists: the dotted name of each, and what is wrong with it."""
    where = f"{path}: " if path else ""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from unusable(key, path)
            yield from unusable(inner, ".".join(filter(None, [path, shown(key).strip("'")])))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from unusable(inner, path)
    elif not isinstance(value, _PLAIN):
        yield f"{where}a value of the kind {type(value).__name__} is no setting; give text, a number or a list"
    elif isinstance(value, int) and abs(value) >= 2**64:
        yield f"{where}a number of {value.bit_length()} bits is too large; give one that fits the field"
    elif isinstance(value, str) and not is_unicode(value):
        yield f"{where}{shown(value)} is not valid Unicode text; write the character itself"
    elif isinstance(value, str) and "\0" in value:
        yield f"{where}contains a NUL character, which no path or name can; remove it"
    elif isinstance(value, str) and len(value) > LONGEST_STRING:
        yield f"{where}text of {len(value):,} characters is too long; give at most {LONGEST_STRING:,}"
