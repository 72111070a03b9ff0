"""Text ↔ ids for one language: a tokenizer and the vocabulary that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmt.config import DataConfig, SideConfig
from nmt.data.batching import Example
from nmt.data.corpus import ParallelText, Skipped, TokenPair, drop_unusable
from nmt.data.token_cache import subword_model, tokenize_lines
from nmt.data.tokenizers import SentencePieceTokenizer, Tokenizer, make_tokenizer
from nmt.data.vocabulary import Vocabulary, build_vocabulary
from nmt.errors import UserError


@dataclass(frozen=True)
class Codec:
    """What turns one side's text into ids and back."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    subword_model: bytes | None = None

    def encode(self, text: str) -> list[int]:
        """Ids of a sentence's tokens, without marks of its beginning or end."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def state(self) -> dict[str, Any]:
        """All that a checkpoint needs to hold, in types that `torch.load(weights_only=True)` admits."""
        model = (
            None if self.subword_model is None else torch.frombuffer(bytearray(self.subword_model), dtype=torch.uint8)
        )
        return {"tokens": list(self.vocabulary.tokens), "subword_model": model}

    @classmethod
    def from_state(cls, side: SideConfig, state: dict[str, Any]) -> Codec:
        """The codec of a checkpoint, whose config says which tokenizer it was."""
        model = None if state["subword_model"] is None else bytes(state["subword_model"].numpy())
        tokenizer = make_tokenizer(side.tokenizer, side.language, side.lowercase, model)
        return cls(tokenizer, Vocabulary(tuple(state["tokens"])), model)


def build_codecs(
    config: DataConfig, text: ParallelText, cache: Path | None = None
) -> tuple[Codec, Codec, list[TokenPair], Skipped]:
    """Learn both sides' subwords and vocabularies from the training text; `cache` is a folder for what takes long.

    Returns the source's and the target's codec, the tokens of the pairs that are kept, and the count of the others.
    Raises `UserError` if no pair is left, or the text cannot give the vocabulary that is asked for.
    """
    sides = (config.source, config.target)
    texts = (text.source + text.target,) * 2 if config.joint_vocabulary else (text.source, text.target)
    models: list[bytes | None] = []
    tokenizers = []
    for name, side, lines in zip(("source", "target"), sides, texts, strict=True):
        try:
            shared = config.joint_vocabulary and models
            models.append(models[0] if shared else _subword_model(side, lines, cache))
            tokenizers.append(make_tokenizer(side.tokenizer, side.language, side.lowercase, models[-1]))
        except UserError as error:
            raise UserError(f"data.{name}.{error}") from None
    source_tokens, target_tokens = (
        tokenize_lines(tokenizer, lines, cache)
        for tokenizer, lines in zip(tokenizers, (text.source, text.target), strict=True)
    )
    pairs, skipped = drop_unusable(zip(source_tokens, target_tokens, strict=True), config.max_length)
    if not pairs:
        raise UserError(f"data: no training pair is left ({skipped}); check the files and data.max_length")
    sentences = [
        [pair[column] for pair in pairs] + _sampled_types(side, tokenizer)
        for column, (side, tokenizer) in enumerate(zip(sides, tokenizers, strict=True))
    ]
    if config.joint_vocabulary:
        sentences = [sentences[0] + sentences[1]] * 2
    source, target = (
        Codec(tokenizer, build_vocabulary(lines, side.min_frequency, side.vocabulary_size), model)
        for side, tokenizer, lines, model in zip(sides, tokenizers, sentences, models, strict=True)
    )
    return source, target, pairs, skipped


def _sampled_types(side: SideConfig, tokenizer: Tokenizer) -> list[list[str]]:
    """All of a model's subwords, as a sentence, where sampling may bring up any of them."""
    if side.subword_sampling is None or not isinstance(tokenizer, SentencePieceTokenizer):
        return []
    return [tokenizer.types()]


def encode_pairs(pairs: list[TokenPair], source: Codec, target: Codec) -> list[Example]:
    """The ids of tokenised pairs."""
    return [Example(source.vocabulary.encode(s), target.vocabulary.encode(t)) for s, t in pairs]


def _subword_model(side: SideConfig, lines: list[str], cache: Path | None) -> bytes | None:
    if side.tokenizer != "sentencepiece":
        return None
    assert side.vocabulary_size is not None  # the config has seen to it
    return subword_model(lines, side.vocabulary_size, side.subword_model, side.lowercase, cache)
