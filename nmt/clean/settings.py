"""What decides which pairs are dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SeveralTargets = Literal["keep", "vote", "first"]

RULES = {  # in the order in which a pair meets them; it is dropped by the first that applies
    "mojibake": "repair wrongly decoded text (ftfy); drop pairs with U+FFFD, a lost character",
    "lines": "with --split-lines: divide pairs of several lines that match",
    "empty": "a side without text",
    "too-long": "more words than --max-words, or a word of more than 100 characters",
    "identical": "the same text on both sides, with more words than --max-identical",
    "ratio": "one side is much longer than the other",
    "repeated": "words or letters that repeat on one side only",
    "numbers": "numbers that differ; those up to 12 may be words on one side",
    "placeholders": "placeholders or closing tags that differ",
    "language": "a side that is clearly in another language, of at least 25 letters",
    "held-out": "with --held-out: a sentence of a validation or test set, on either side",
    "duplicates": "a copy of an earlier pair",
    "several-targets": "with --several-targets vote or first: other translations of the same source",
    "scores": "with --scores: pairs that are improbable in both directions",
}


@dataclass(frozen=True)
class Settings:
    """The options of the rules.

    `languages` are the codes of source and target. `max_ratio` is in characters, of which a target has `expected_ratio`
    times as many as its source. `max_words` is the limit of each side, `max_identical` that of words in equal sides.
    """

    languages: tuple[str, str]
    skip: frozenset[str] = frozenset()
    max_ratio: float = 2.5
    expected_ratio: float = 1.0
    max_words: int = 100
    max_identical: int = 3
    split_lines: bool = False
