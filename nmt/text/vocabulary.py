"""Tokens ↔ ids. A vocabulary is a plain value; torchtext selects and orders its tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from nmt.model.special_tokens import BOS as BOS
from nmt.model.special_tokens import EOS as EOS
from nmt.model.special_tokens import PAD as PAD
from nmt.model.special_tokens import UNK as UNK

UNK_TOKEN, PAD_TOKEN, BOS_TOKEN, EOS_TOKEN = SPECIALS = ("<unk>", "<pad>", "<bos>", "<eos>")


@dataclass(frozen=True)
class Vocabulary:
    """The distinct tokens of one language, in the order of their ids; the first four are `SPECIALS`."""

    tokens: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def _ids(self) -> dict[str, int]:
        # Without the special tokens: the text "<eos>" must not end a sentence.
        return {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIALS)}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The tokens' ids, with `UNK` for those not in the vocabulary."""
        id_of = self._ids.get
        return [id_of(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        return [self.tokens[i] for i in ids]


def without_end(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens without `<eos>`, if it is the last."""
    return tokens[:-1] if tokens and tokens[-1] == EOS_TOKEN else tokens


def build_vocabulary(counts: Counter[str], min_frequency: int = 1, max_size: int | None = None) -> Vocabulary:
    """The `max_size` most frequent of the tokens seen at least `min_frequency` times; ties are alphabetical."""
    from torchtext.vocab import Vocab

    vocabulary = Vocab(counts, max_size=max_size, min_freq=min_frequency, specials=list(SPECIALS))
    return Vocabulary(tuple(vocabulary.itos))


def with_tags(vocabulary: Vocabulary, tags: Iterable[str]) -> Vocabulary:
    """The vocabulary with some tags at its end, unless it has them."""
    return Vocabulary(tuple(dict.fromkeys([*vocabulary.tokens, *tags])))
