"""Subwords of lower-cased text, with the case of words in tokens of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from nmt.text.tokenizers.base import SPACE_MARK, single_spaces
from nmt.text.tokenizers.case import MARKS, cased, marked, unmarked
from nmt.text.tokenizers.sentencepiece import (
    SentencePieceOptions,
    SentencePieceTokenizer,
    loaded,
    train_sentencepiece,
    words_only,
)


@dataclass(frozen=True)
class CasedSentencePieceTokenizer(SentencePieceTokenizer):
    """Subwords of lower-cased text. A token before each word with capital letters keeps its case.

    "Ein" and "ein" share all that is learnt of them. With `lowercase: false`.
    """

    keeps_case = True

    @classmethod
    def learn(cls, lines: Sequence[str], lowercase: bool, options: SentencePieceOptions) -> bytes:
        words = (words_only(line).split() for line in lines)
        lowered = [" ".join("".join(text for _, text in marked(word)) for word in line) for line in words]
        return train_sentencepiece(lowered, options.vocabulary_size, options.subword_model, lowercase=False)

    def tokenize(self, text: str) -> list[str]:
        normal: str = loaded(self.model).normalize(words_only(text))
        return [*chain.from_iterable(_tokens(self.model, word) for word in normal.split(SPACE_MARK)[1:])]

    def subwords(self) -> list[str]:
        """All subwords that a text can be cut into, and the marks of case."""
        return [*super().subwords(), *MARKS]

    def detokenize(self, tokens: list[str]) -> str:
        return single_spaces(unmarked(tokens).replace(SPACE_MARK, " "))


@lru_cache(1 << 16)
def _tokens(model: bytes, word: str) -> list[str]:
    encode = loaded(model).encode
    return cased([word], lambda part: encode(part.removeprefix(SPACE_MARK), out_type=str), _pieces(model))


@cache
def _pieces(model: bytes) -> frozenset[str]:
    return frozenset(SentencePieceTokenizer(model, False).subwords())
