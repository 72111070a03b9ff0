"""Cuts off source sentences that are too long for the search, and says so on standard error.

`limit` is `search.max_source_length`, in tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.text.tokenizers import Tokenizer

# So many characters are read for each token that the search takes, but never fewer than these in all.
CHARACTERS_OF_A_TOKEN, SHORTEST_CUT = 20, 10_000


def most_characters(limit: int) -> int:
    """How many characters of a sentence are read at most, before tokens are counted."""
    return max(SHORTEST_CUT, CHARACTERS_OF_A_TOKEN * limit)


def all_readable(sentences: Sequence[str], limit: int) -> list[str]:
    """The sentences, of which very long ones are cut by characters: finding all their tokens would take long.

    Twenty characters for each token are taken to be enough. Before a cut, runs of white space become one blank.
    Raises `UserError` if one is not Unicode: usually it holds bytes of another encoding.
    """
    return [_readable(number, sentence, limit) for number, sentence in enumerate(sentences, start=1)]


def _readable(number: int, sentence: str, limit: int) -> str:
    if not is_unicode(sentence):
        raise UserError(f"sentence {number} is not valid Unicode text: convert it to UTF-8")
    most = most_characters(limit)
    if len(sentence) > most and len(sentence := " ".join(sentence.split())) > most:
        _say_cut(f"{most:,} of {len(sentence):,} characters", sentence)
        sentence = sentence[:most]
    return sentence


def tokens_within(limit: int, tokenizer: Tokenizer, sentences: Sequence[str]) -> list[list[str]]:
    """The sentences' tokens, at most as many as the search takes."""
    found = [tokenizer.tokenize(sentence) for sentence in sentences]
    for sentence, tokens in zip(sentences, found, strict=True):
        if len(tokens) > limit:
            _say_cut(f"{limit} of {len(tokens)} tokens", sentence)
            del tokens[limit:]
    return found


def _say_cut(where: str, sentence: str) -> None:
    begin = " ".join(sentence[:40].split())
    print(f"cut off after {where} (search.max_source_length): {begin} …", file=sys.stderr)
