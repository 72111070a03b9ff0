"""Text ↔ ids for one language: a tokenizer and its vocabulary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.text.normalization import normalized
from nmt.text.tokenizers import TOKENIZERS, Tokenizer
from nmt.text.vocabulary import UNK, UNK_TOKEN, Vocabulary, without_end

UNKNOWN = "\ue000"  # of private use: no text has it


@dataclass(frozen=True)
class Codec:
    """Turns one language's text into ids and back. `language` is its code, or `xx` where none is known.

    With `normalize` all text is normalised before it becomes tokens.
    """

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    subword_model: bytes | None = None
    language: str = "xx"
    normalize: bool = True

    def normalized(self, text: str) -> str:
        return normalized(text) if self.normalize else text

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a sentence, as the model reads them."""
        return [token for token in self.tokenizer.tokenize(self.normalized(text)) if token not in self._unread]

    def surfaces(self, text: str) -> list[str]:
        """For each of `tokenize(text)` the piece of the text behind it."""
        text = self.normalized(text)
        pairs = zip(self.tokenizer.tokenize(text), self.tokenizer.surfaces(text), strict=True)
        return [surface for token, surface in pairs if token not in self._unread]

    def encode(self, text: str) -> list[int]:
        """The ids of a sentence's tokens, without beginning and end tokens."""
        return self.vocabulary.encode(self.tokenize(text))

    def prefix_ids(self, prefix: str | Sequence[str]) -> list[int]:
        """The ids that a translation begins with: of a text, or of tokens. Raises `UserError` for unknown text."""
        if not is_unicode("".join(prefix)):
            raise UserError("prefix: not valid Unicode text: convert it to UTF-8")
        if not isinstance(prefix, str):
            return self.vocabulary.encode(without_end(prefix))
        ids = self.encode(prefix)
        if UNK in ids:
            raise UserError(f"prefix: {prefix!r} contains tokens outside the vocabulary: reword it")
        return ids

    def prefix_lists(self, prefixes: Sequence[str | Sequence[str]], most: int) -> list[list[int]]:
        """The same of several, none if all are empty. Raises `UserError` for one with `most` ids or more."""
        ids = [self.prefix_ids(prefix) for prefix in prefixes]
        longest = max(map(len, ids), default=0)
        if longest >= most:
            raise UserError(f"prefix: {longest} tokens, and a translation has at most {most} (max_length): shorten it")
        return ids if longest else []

    def rarity(self, text: str, tokens: Sequence[str]) -> float:
        """How rare the words of a text are: the sum of log(frequency rank) over its `tokens`, per character.

        Unknown tokens have the last rank.
        """
        ranks = (len(self.vocabulary) if i == UNK else i + 1 for i in self.vocabulary.encode(tokens))
        return sum(map(math.log, ranks)) / max(1, len("".join(self.normalized(text).split())))

    def decode(self, ids: Sequence[int]) -> str:
        """The text that ids spell. An unknown token becomes a character that is unknown again."""
        tokens = self.vocabulary.decode(ids)
        return self.tokenizer.detokenize([UNKNOWN if token == UNK_TOKEN else token for token in tokens])

    @cached_property
    def _unread(self) -> frozenset[str]:
        """The marks of spaces that the vocabulary, once it is learnt, does not have."""
        tokens = self.vocabulary.tokens
        return frozenset(self.tokenizer.spacing).difference(tokens) if tokens else frozenset()

    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint has to store, in types that a checkpoint may hold."""
        model = (
            None if self.subword_model is None else torch.frombuffer(bytearray(self.subword_model), dtype=torch.uint8)
        )
        return {"tokens": list(self.vocabulary.tokens), "subword_model": model}

    @classmethod
    def from_state(
        cls, kind: str, language: str, lowercase: bool, state: dict[str, Any], normalize: bool = True
    ) -> Codec:
        """The codec of a checkpoint, whose config says what tokenizer it has: kind, language, and case."""
        model = None if state["subword_model"] is None else bytes(state["subword_model"].numpy())
        tokenizer = TOKENIZERS[kind].make(language, lowercase, model)
        return cls(tokenizer, Vocabulary(tuple(state["tokens"])), model, language, normalize)
