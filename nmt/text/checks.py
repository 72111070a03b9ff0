"""What can be seen of a translation beside its source without a model: its numbers, and words that repeat."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from nmt.text.tokenizers.case import SPACE_MARK

LONGEST_LOOP = 6  # tokens, or words, of what repeats
_THOUSANDS = re.compile(r"(?<![\d.,'’])\d{1,3}(?:([.,'’\u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?!\d)")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_WITHIN_A_WORD = re.compile(r"([^\W\d_]{2,8})\1{3}")


def number_differences(source: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers of a source that are missing in its translation, and those of the translation that are new.

    Digits alone count, without separators: 1.299,00 is 1,299.00, and 3.10.2024 is 10/3/2024. Number words do not count.
    """
    one, other = _numbers(source), _numbers(target)
    return tuple((one - other).elements()), tuple((other - one).elements())


def _numbers(text: str) -> Counter[str]:
    joined = _THOUSANDS.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    digits = ("".join(str(unicodedata.decimal(digit)) for digit in number) for number in re.findall(r"\d+", joined))
    return Counter(number.lstrip("0") or "0" for number in digits)


def repeats(text: str) -> bool:
    """Whether a text has the same words, up to `LONGEST_LOOP` of them, three times in a row, or "nananana"."""
    if _WITHIN_A_WORD.search(text.lower()):
        return True
    words = _WORD.findall(text.lower())
    for length in range(1, LONGEST_LOOP + 1):
        same = 0  # the number of words that are equal to the ones `length` before them, up to here
        for before, word in zip(words, words[length:], strict=False):
            same = same + 1 if word == before and not word.isdecimal() else 0
            if same == 2 * length:
                return True
    return False


def begins_word(token: str, pieces: bool) -> bool:
    """Whether a token begins a word, other than a number, or is one; pieces of words have marks of spaces."""
    return (SPACE_MARK in token if pieces else any(map(str.isalpha, token))) and not any(map(str.isdigit, token))
