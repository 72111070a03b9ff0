"""Cuts off source sentences that are too long for the search, and says so on standard error.

`limit` is `search.max_source_length`, in tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.system.wording import counted, truncate
from nmt.text.codec import Codec


def most_characters(limit: int) -> int:
    """How many characters of a sentence are read at most, before tokens are counted: finding all would take long."""
    return max(10_000, 20 * limit)


class Readable(NamedTuple):
    """What is read of a sentence, its tokens, whether it was cut off, and its `Codec.rarity`."""

    text: str
    tokens: list[str]
    is_cut: bool
    rarity: float


def read(sentences: Sequence[str], limit: int, codec: Codec) -> list[Readable]:
    """What is read of each sentence, of whose tokens at most as many as the search takes.

    Raises `UserError` as `all_readable` does.
    """
    kept = all_readable(sentences, limit)
    readable = []
    for sentence, whole in zip(kept, sentences, strict=True):
        tokens = codec.tokenize(sentence)
        is_shorter = len(sentence) < len(whole) and len(sentence) < len(" ".join(whole.split()))
        is_cut = is_shorter or len(tokens) > limit
        readable.append(Readable(sentence, tokens[:limit], is_cut, codec.rarity(sentence, tokens)))
        if is_cut:
            about = f"cut off after {counted(len(tokens[:limit]), 'token')} (search.max_source_length)"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)
    return readable


def all_readable(sentences: Sequence[str], limit: int) -> list[str]:
    """The sentences, of which very long ones are cut by characters, once runs of white space are one blank.

    Raises `UserError` if one is not Unicode: usually it holds bytes of another encoding.
    """
    check_unicode(sentences)
    most = most_characters(limit)
    return [text if len(text) <= most else " ".join(text.split())[:most] for text in sentences]


def check_unicode(sentences: Sequence[str]) -> None:
    """Raise `UserError` for a sentence that UTF-8 cannot write, by its number from 1."""
    for number, sentence in enumerate(sentences, start=1):
        if not is_unicode(sentence):
            raise UserError(f"sentence {number} is not valid Unicode text: convert it to UTF-8")
