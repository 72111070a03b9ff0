"""Cuts off source sentences that are too long for the search, and says so on standard error.

`limit` is `search.max_source_length`, in tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.system.wording import counted, truncate
from nmt.text.codec import Codec


def most_characters(limit: int) -> int:
    """How many characters of a sentence are read at most, before tokens are counted: finding all would take long."""
    return max(10_000, 20 * limit)


def read(sentences: Sequence[str], limit: int, codec: Codec) -> tuple[list[str], list[list[str]]]:
    """What is read of each sentence, and its tokens, at most as many as the search takes.

    Raises `UserError` as `all_readable` does.
    """
    kept = all_readable(sentences, limit)
    tokens = [codec.tokenize(sentence) for sentence in kept]
    for sentence, sentence_tokens, whole in zip(kept, tokens, sentences, strict=True):
        is_cut = len(sentence) < len(whole) and len(sentence) < len(" ".join(whole.split()))
        if is_cut or len(sentence_tokens) > limit:
            del sentence_tokens[limit:]
            about = f"cut off after {counted(len(sentence_tokens), 'token')} (search.max_source_length)"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)
    return kept, tokens


def all_readable(sentences: Sequence[str], limit: int) -> list[str]:
    """The sentences, of which very long ones are cut by characters, once runs of white space are one blank.

    Raises `UserError` if one is not Unicode: usually it holds bytes of another encoding.
    """
    for number, sentence in enumerate(sentences, start=1):
        if not is_unicode(sentence):
            raise UserError(f"sentence {number} is not valid Unicode text: convert it to UTF-8")
    most = most_characters(limit)
    return [text if len(text) <= most else " ".join(text.split())[:most] for text in sentences]
