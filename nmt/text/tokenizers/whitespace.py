"""Text that is tokenized already: its words are its tokens."""

from __future__ import annotations

from nmt.text.tokenizers.base import PlainTokenizer, masks_apart


class WhitespaceTokenizer(PlainTokenizer):
    """The text between whitespace: for tokenised text."""

    def surfaces(self, text: str) -> list[str]:
        return masks_apart(text).split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)
