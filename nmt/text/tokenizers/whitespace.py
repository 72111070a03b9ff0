"""Text that is tokenized already: its words are its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nmt.text.tokenizers.base import SurfaceTokenizer


@dataclass(frozen=True)
class WhitespaceTokenizer(SurfaceTokenizer):
    """What stands between whitespace: for text that is tokenised already."""

    beyond_export = None

    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(lowercase)

    def surfaces(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)
