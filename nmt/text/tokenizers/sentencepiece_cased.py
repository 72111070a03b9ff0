"""Subwords of lower-cased text, with the case of words in tokens of their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from nmt.text.tokenizers.base import SPACE_MARK, single_spaces
from nmt.text.tokenizers.case import MARKS, cased, marked, unmarked
from nmt.text.tokenizers.sentencepiece import (
    SentencePieceOptions,
    SentencePieceTokenizer,
    loaded,
    sampler,
    train_sentencepiece,
    words_only,
)

WORDS_KEPT = 1 << 16  # whose tokens are kept in memory
Cut = Callable[[str], Sequence[str]]  # a space mark and a word → its pieces


@dataclass(frozen=True)
class CasedSentencePieceTokenizer(SentencePieceTokenizer):
    """Subwords of lower-cased text. A token before each word with capital letters keeps its case.

    "Ein" and "ein" share all that is learnt of them. With `lowercase: false`.
    """

    keeps_case = True

    @classmethod
    def learn(cls, lines: Iterable[str], lowercase: bool, options: SentencePieceOptions) -> bytes:
        return train_sentencepiece(_Lowered(lines), options.vocabulary_size, options.subword_model, lowercase=False)

    def tokenize(self, text: str) -> list[str]:
        return [*chain.from_iterable(map(_cutter(self.model), self._words(text)))]

    def types(self) -> list[str]:
        """All subwords that a text can be cut into, and the marks of case."""
        return [*super().types(), *MARKS]

    def sample(self, texts: list[str], alpha: float, seed: int) -> list[list[str]]:
        """As `SentencePieceTokenizer.sample`."""
        generator = random.Random(seed)
        draw = sampler(self, alpha)
        known = _known(self.model)
        return [cased(self._words(text), lambda word: draw(word, generator), known) for text in texts]

    def surfaces(self, text: str) -> list[str]:
        """As in `Tokenizer`. A mark at a word's beginning has "▁", which belongs to the word, and others themselves."""
        raw = words_only(text)
        normal, to_raw = loaded(self.model).normalize(raw, with_offsets=True)
        surfaces, begin, tokens = [], 0, self.tokenize(text)
        for token in tokens:
            if token in MARKS:
                begins_word = normal[begin : begin + 1] == SPACE_MARK
                surfaces.append(SPACE_MARK if begins_word else token)
                continue
            end = begin + len(token)
            behind = "".join(raw[to_raw[begin] : to_raw[end]].split())
            mark = SPACE_MARK if token.startswith(SPACE_MARK) else ""
            surfaces.append(mark + behind if behind else token)
            begin = end
        return surfaces

    def detokenize(self, tokens: list[str]) -> str:
        return single_spaces(unmarked(tokens).replace(SPACE_MARK, " "))

    def _words(self, text: str) -> list[str]:
        """The words of the normalised text."""
        normal: str = loaded(self.model).normalize(words_only(text))
        return normal.split(SPACE_MARK)[1:]


@dataclass(frozen=True)
class _Lowered:
    """Lines without capital letters. They can be read as often as the lines."""

    lines: Iterable[str]

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            yield " ".join("".join(text for _, text in marked(word)) for word in words_only(line).split())


@cache
def _cutter(model: bytes) -> Cut:
    """What cuts a word, with marks of its case."""
    encode, known = loaded(model).encode, _known(model)

    def pieces(word: str) -> list[str]:
        cut: list[str] = encode(word.removeprefix(SPACE_MARK), out_type=str)
        return cut

    return lru_cache(WORDS_KEPT)(lambda word: tuple(cased([word], pieces, known)))


@cache
def _known(model: bytes) -> frozenset[str]:
    return frozenset(SentencePieceTokenizer(model, False).types())
