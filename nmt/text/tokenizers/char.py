"""Characters as tokens."""

from __future__ import annotations

from nmt.text.tokenizers.base import SPACE_MARK, PlainTokenizer, single_spaces


class CharTokenizer(PlainTokenizer):
    """Characters; a run of whitespace is the token "▁", and a "▁" of the text the token "▁▁"."""

    pieces = True

    def surfaces(self, text: str) -> list[str]:
        marks = {" ": SPACE_MARK, SPACE_MARK: 2 * SPACE_MARK}
        return [marks.get(character, character) for character in single_spaces(text)]

    def detokenize(self, tokens: list[str]) -> str:
        characters = {SPACE_MARK: " ", 2 * SPACE_MARK: SPACE_MARK}
        return single_spaces("".join(characters.get(token, token) for token in tokens))
