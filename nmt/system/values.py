"""Values of unknown origin: whether they are text, and how they are shown in a message."""

import reprlib
from collections.abc import Iterable
from itertools import chain

from nmt.system.errors import UserError

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
