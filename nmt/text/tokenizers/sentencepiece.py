"""Subwords of a sentencepiece model (Kudo and Richardson 2018), learnt from the training text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Literal, Self

from nmt.registry import Count
from nmt.system.errors import UserError
from nmt.text.tokenizers.base import MASKS, SPACE_MARK, Tokenizer, TokenizerOptions, lower, single_spaces


class SentencePieceOptions(TokenizerOptions):
    """The options of `sentencepiece`."""

    vocabulary_size: Count = 4000
    """The number of pieces."""
    subword_model: Literal["unigram", "bpe"] = "unigram"
    """How pieces are learnt: `unigram` (Kudo 2018) or `bpe` (Sennrich et al. 2016)."""


@dataclass(frozen=True)
class SentencePieceTokenizer(Tokenizer):
    """Subwords of a sentencepiece model; a word's first piece begins with "▁"."""

    Options = SentencePieceOptions
    pieces = True
    marks_words = True
    learns = True

    model: bytes
    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        if model is None:
            raise ValueError("a sentencepiece tokenizer needs its model's bytes")
        return cls(model, lowercase)

    @classmethod
    def learn(cls, lines: Sequence[str], lowercase: bool, options: SentencePieceOptions) -> bytes:
        return train_sentencepiece(lines, options.vocabulary_size, options.subword_model, lowercase)

    def tokenize(self, text: str) -> list[str]:
        return loaded(self.model).encode(lower(words_only(text), self.lowercase), out_type=str)

    @property
    def size(self) -> int:
        return loaded(self.model).get_piece_size()

    def subwords(self) -> list[str]:
        """All subwords that a text can be cut into."""
        model = loaded(self.model)
        ids = range(model.get_piece_size())
        return [model.id_to_piece(i) for i in ids if not (model.is_control(i) or model.is_unknown(i))]

    def surfaces(self, text: str) -> list[str]:
        """As in `Tokenizer`; the tokens themselves, if they have more or fewer characters than the text."""
        tokens, raw = self.tokenize(text), SPACE_MARK + words_only(text).replace(" ", SPACE_MARK)
        ends = [0, *accumulate(map(len, tokens))]
        return [raw[begin:end] for begin, end in pairwise(ends)] if ends[-1] == len(raw) else tokens

    def detokenize(self, tokens: list[str]) -> str:
        # Not the model's own decode: it would drop a word that happens to read "</s>".
        return single_spaces("".join(tokens).replace(SPACE_MARK, " "))


def train_sentencepiece(
    lines: Sequence[str], vocabulary_size: int, model_type: Literal["unigram", "bpe"], lowercase: bool
) -> bytes:
    """A sentencepiece model of `vocabulary_size` pieces, trained on the lines: the same bytes every time.

    A text that gives fewer pieces is read a second time, for a model of as many as it gives. Every character of the
    lines gets a piece, as it is: sentencepiece normalises nothing.

    Raises UserError if `vocabulary_size` is too small for the text's characters, or if the text has no words.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=(lower(words_only(line), lowercase) for line in lines),
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type=model_type,
            character_coverage=1.0,
            normalization_rule_name="identity",  # by default (nmt_nfkc) no "m²" could be written
            max_sentence_length=1 << 20,  # by default, lines of more than 4192 bytes are left out without a word
            user_defined_symbols=[*MASKS] if any(mask in line for mask in MASKS for line in lines) else [],
            num_threads=1,  # the result depends on it
            minloglevel=2,
        )
    except RuntimeError as error:
        most = re.search(r"too high.*<= (\d+)", str(error))
        if most is None or int(most[1]) >= vocabulary_size:
            raise UserError(_explain_training_error(str(error), vocabulary_size)) from None
        return train_sentencepiece(lines, int(most[1]), model_type, lowercase)
    return model.getvalue()


def _explain_training_error(message: str, vocabulary_size: int) -> str:
    if "empty()" in message or "all_chars_count" in message:
        return "tokenizer: sentencepiece found no words in the training text: give it sentences"
    field = f"vocabulary_size: {vocabulary_size}"
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return f"{field} is too small: this text has too many characters; set it to {smallest[1]} or more"
    return f"{field}: sentencepiece cannot train with this size on this text ({' '.join(message.split())})"


def words_only(text: str) -> str:
    """The text as sentencepiece sees it: it takes a "▁" for a space."""
    return single_spaces(text.replace(SPACE_MARK, " "))


@cache
def loaded(model: bytes) -> Any:
    """The model as sentencepiece's processor. Raises `RuntimeError` if it is damaged."""
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_proto=model)
