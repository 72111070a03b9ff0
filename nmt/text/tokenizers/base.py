"""What all tokenizers share.

A tokenizer is a small frozen value, made from what a checkpoint can hold: kind, language, case, model bytes. Tokens are
never empty and hold no whitespace. For a text, `surfaces` gives one string per token of `tokenize`: the same token in
the text's own letters, fit to stand in its place before `detokenize`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from nmt.registry import Count, Section
from nmt.text.tokenizers.case import SPACE_MARK as SPACE_MARK  # part of this module, too

MASKS = "".join(map(chr, range(0xE001, 0xE00B)))  # of private use: they stand for protected spans, and each is a token


class TokenizerOptions(Section):
    """The config fields that every tokenizer reads."""

    vocabulary_size: Count | None = None
    """How many of the most frequent tokens are kept. By default all."""


class Tokenizer(ABC):
    """Text to tokens and back, for one side of the corpus."""

    Options: ClassVar[type[Section]] = TokenizerOptions
    pieces: ClassVar[bool] = False  # whether tokens are parts of words
    marks_words: ClassVar[bool] = False  # whether a word's first piece begins with SPACE_MARK
    keeps_case: ClassVar[bool] = False  # whether text must not be lower-cased before it
    learns: ClassVar[bool] = False  # whether it needs a model, which `learn` makes of the training text
    # Tokens that only say how others are spaced: a model whose vocabulary lacks them does without.
    spacing: ClassVar[frozenset[str]] = frozenset()
    lowercase: bool

    @classmethod
    @abstractmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        """The tokenizer for a language. Raises `UserError` if it has no rules for it."""

    @classmethod
    def learn(cls, lines: Sequence[str], lowercase: bool, options: Any) -> bytes | None:
        """The model that `make` takes, learnt from lines; `options` are those of the class."""
        return None

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one sentence: by default pieces of the raw text, lower-cased if `lowercase` says so."""
        surfaces = self.surfaces(text)
        return [token.lower() for token in surfaces] if self.lowercase else surfaces

    @abstractmethod
    def surfaces(self, text: str) -> list[str]:
        """For each token of `tokenize(text)` the piece of the raw, not lower-cased text behind it."""

    @abstractmethod
    def detokenize(self, tokens: list[str]) -> str:
        """The sentence that the tokens spell, spaced as people write."""

    @property
    def size(self) -> int | None:
        """The number of pieces of a learnt model, which is below `vocabulary_size` if the text gives no more."""
        return None

    def subwords(self) -> list[str]:
        """All subwords that a text can be cut into."""
        return []


@dataclass(frozen=True)
class PlainTokenizer(Tokenizer):
    """One without rules of a language."""

    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(lowercase)


def masks_apart(text: str) -> str:
    return re.sub(f"[{MASKS}]", r" \g<0> ", text)


def single_spaces(text: str) -> str:
    return " ".join(text.split())


def lower(text: str, lowercase: bool) -> str:
    return text.lower() if lowercase else text
