"""Characters as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nmt.text.tokenizers.base import SPACE_MARK, Tokenizer, lower_each, single_spaces


@dataclass(frozen=True)
class CharTokenizer(Tokenizer):
    """Characters; a run of whitespace is the one token "▁", and a "▁" of the text itself the token "▁▁"."""

    pieces = True
    beyond_export = None

    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(lowercase)

    def tokenize(self, text: str) -> list[str]:
        return lower_each(self.surfaces(text), self.lowercase)

    def surfaces(self, text: str) -> list[str]:
        shown = {" ": SPACE_MARK, SPACE_MARK: 2 * SPACE_MARK}
        return [shown.get(character, character) for character in single_spaces(text)]

    def detokenize(self, tokens: list[str]) -> str:
        meant = {SPACE_MARK: " ", 2 * SPACE_MARK: SPACE_MARK}
        return single_spaces("".join(meant.get(token, token) for token in tokens))
