"""The words whose parts tokens are, as figures and the page show them, and as unknown ones are replaced."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise

from nmt.text.tokenizers.case import MARKS, SPACE_MARK, unmarked
from nmt.text.tokenizers.spacy import JOINT
from nmt.text.vocabulary import EOS_TOKEN


def word_numbers(tokens: Sequence[str], pieces: bool | None = None) -> list[int]:
    """For each token of a sentence the number of its word, from 0; marks of case and of spaces belong to a word.

    `pieces` says whether tokens are parts of words; by default their space marks show it.
    """
    inner = [*tokens[:-1]] if tokens[-1:] == [EOS_TOKEN] else [*tokens]
    if pieces is None:
        letters = SPACE_MARK in inner and all(len(token) == 1 for token in inner)
        pieces = letters or any(token.startswith(SPACE_MARK) and token != SPACE_MARK for token in inner)
    if pieces:
        ahead = [mark in MARKS and following.startswith(SPACE_MARK) for mark, following in pairwise([*inner, ""])]
        words = words_of([SPACE_MARK if is_ahead else token for is_ahead, token in zip(ahead, inner, strict=True)])
        numbers = [number for number, word in enumerate(words) for _ in word]
    else:
        numbers = [*accumulate((token not in (JOINT, SPACE_MARK) for token in inner[1:]), initial=0)][: len(inner)]
    return numbers + [max(numbers, default=-1) + 1] * (len(tokens) - len(inner))


def joined(tokens: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """The text of each word, its case as marks demand."""
    words: list[list[str]] = [[] for _ in range(max(numbers, default=-1) + 1)]
    for token, number in zip(tokens, numbers, strict=True):
        words[number] += [token] if token != JOINT or not words[number] else []
    return [unmarked(word).replace(SPACE_MARK, "") or "".join(word) for word in words]


def words_of(surfaces: list[str]) -> list[list[str]]:
    """The pieces of each word, and of each punctuation mark at a word's ends, with the space marks before them."""
    # One letter per piece: m is a space mark by itself, p punctuation, w anything else; a capital has a space mark.
    kinds = ""
    for surface in surfaces:
        bare = surface.replace(SPACE_MARK, "")
        kind = "m" if not bare else "p" if all(unicodedata.category(c)[0] == "P" for c in bare) else "w"
        kinds += kind.upper() if bare and surface.startswith(SPACE_MARK) else kind
    return [surfaces[slice(*match.span())] for match in re.finditer("m*[wW](?:[wp]*w)?|m*[pP]|m+", kinds)]
