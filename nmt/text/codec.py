"""Text ↔ ids for one language: a tokenizer and its vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nmt.text.tokenizers import Tokenizer, make_tokenizer
from nmt.text.vocabulary import UNK_TOKEN, Vocabulary

UNKNOWN = "\ue000"  # of private use: no text has it


@dataclass(frozen=True)
class Codec:
    """Turns one language's text into ids and back. `language` is its code, or `xx` where none is known."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    subword_model: bytes | None = None
    language: str = "xx"

    def encode(self, text: str) -> list[int]:
        """The ids of a sentence's tokens, without beginning and end tokens."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text that ids spell. An unknown token becomes a character that is unknown again."""
        tokens = self.vocabulary.decode(ids)
        return self.tokenizer.detokenize([UNKNOWN if token == UNK_TOKEN else token for token in tokens])

    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint has to store, in types that a checkpoint may hold."""
        model = (
            None if self.subword_model is None else torch.frombuffer(bytearray(self.subword_model), dtype=torch.uint8)
        )
        return {"tokens": list(self.vocabulary.tokens), "subword_model": model}

    @classmethod
    def from_state(cls, kind: str, language: str, lowercase: bool, state: dict[str, Any]) -> Codec:
        """The codec of a checkpoint, whose config says what tokenizer it has: kind, language, and case."""
        model = None if state["subword_model"] is None else bytes(state["subword_model"].numpy())
        tokenizer = make_tokenizer(kind, language, lowercase, model)
        return cls(tokenizer, Vocabulary(tuple(state["tokens"])), model, language)
