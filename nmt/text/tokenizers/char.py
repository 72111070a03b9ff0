"""Characters as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nmt.text.tokenizers.base import SPACE_MARK, SurfaceTokenizer, single_spaces


@dataclass(frozen=True)
class CharTokenizer(SurfaceTokenizer):
    """Characters; a run of whitespace is the one token "▁", and a "▁" of the text itself the token "▁▁"."""

    pieces = True
    beyond_export = None

    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(lowercase)

    def surfaces(self, text: str) -> list[str]:
        marks = {" ": SPACE_MARK, SPACE_MARK: 2 * SPACE_MARK}
        return [marks.get(character, character) for character in single_spaces(text)]

    def detokenize(self, tokens: list[str]) -> str:
        characters = {SPACE_MARK: " ", 2 * SPACE_MARK: SPACE_MARK}
        return single_spaces("".join(characters.get(token, token) for token in tokens))
