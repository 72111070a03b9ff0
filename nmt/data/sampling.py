"""The training pairs as ids, and as other ids in each epoch where subwords are sampled."""

from __future__ import annotations

import random
from collections.abc import Callable

from nmt.config import DataConfig
from nmt.data.batching import Example
from nmt.data.codec import Codec, encode_pairs
from nmt.data.corpus import TokenPair
from nmt.data.tokenizers import SentencePieceTokenizer


def epoch_examples(
    pairs: list[TokenPair], source: Codec, target: Codec, config: DataConfig, seed: int
) -> Callable[[int], list[Example]]:
    """A function from the number of an epoch, from 0, to the examples of all pairs, in their order.

    A side with `subword_sampling` gets new subwords in each epoch (Kudo 2018; Provilkov et al. 2020), which seed and
    epoch decide; the other keeps those of `pairs`.
    """
    best = encode_pairs(pairs, source, target)
    if config.source.subword_sampling is None and config.target.subword_sampling is None:
        return lambda _: best

    texts = [[codec.tokenizer.detokenize(pair[side]) for pair in pairs] for side, codec in enumerate((source, target))]

    def examples(epoch: int) -> list[Example]:
        sides = [[example.source for example in best], [example.target for example in best]]
        for i, (name, codec, side) in enumerate((("source", source, config.source), ("target", target, config.target))):
            if side.subword_sampling is not None:
                assert isinstance(codec.tokenizer, SentencePieceTokenizer)  # the config has seen to it
                draw = random.Random(f"{seed} {epoch} {name}").getrandbits(32)
                sampled = codec.tokenizer.sample(texts[i], side.subword_sampling, draw)
                sides[i] = [codec.vocabulary.encode(tokens) for tokens in sampled]
        return [Example(*ids) for ids in zip(*sides, strict=True)]

    return examples
