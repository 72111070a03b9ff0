"""Subwords drawn at random: from the right distribution, and the same again for the same seed and epoch."""

import itertools
import math
from collections import Counter
from typing import Any

import pytest

from nmt.config import DataConfig
from nmt.data.codec import build_codecs
from nmt.data.corpus import ParallelText
from nmt.data.sampling import epoch_examples
from nmt.data.tokenizers import SentencePieceTokenizer, _sentencepiece, train_sentencepiece
from nmt.data.vocabulary import UNK

SYLLABLES = ["hun", "de", "ro", "ten", "hut", "sie", "ht", "un", "te"]
WORDS = ["".join(syllables) for syllables in itertools.product(SYLLABLES, repeat=2)]
LINES = [" ".join(WORDS[i::7]) for i in range(7)] + [" ".join((WORDS + SYLLABLES)[i:][:5]) for i in range(50)]


def tokenizer_of(kind: Any) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(train_sentencepiece(LINES, 45, kind, True), True)


def segmentations(word: str, types: set[str]) -> list[tuple[str, ...]]:
    if not word:
        return [()]
    ends = range(1, len(word) + 1)
    return [(word[:end], *rest) for end in ends if word[:end] in types for rest in segmentations(word[end:], types)]


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_segmentations_are_drawn_by_their_probability_to_the_power_alpha(alpha: float) -> None:
    """Against all segmentations of a word, scored by the product of their subwords' probabilities."""
    tokenizer = tokenizer_of("unigram")
    model = _sentencepiece(tokenizer.model)
    possible = segmentations("▁huntende", set(tokenizer.types()))
    weights = [math.exp(alpha * sum(model.get_score(model.piece_to_id(piece)) for piece in s)) for s in possible]
    count = 20_000
    drawn = Counter(map(tuple, tokenizer.sample(["huntende"] * count, alpha, seed=1)))
    assert len(possible) >= 10
    assert drawn.keys() <= set(possible)
    for segmentation, weight in zip(possible, weights, strict=True):
        share = weight / sum(weights)
        spread = math.sqrt(share * (1 - share) / count)
        assert drawn[segmentation] / count == pytest.approx(share, abs=5 * spread + 1e-4), segmentation


def test_merges_are_left_out() -> None:
    tokenizer = tokenizer_of("bpe")
    best = len(tokenizer.tokenize(LINES[0]))
    lengths = [sum(map(len, tokenizer.sample([LINES[0]] * 500, alpha, 1))) / 500 for alpha in (0.001, 0.1, 0.5, 0.999)]
    assert best == pytest.approx(lengths[0], rel=0.01)
    assert lengths == sorted(lengths)
    assert lengths[-1] == pytest.approx(len("▁" + LINES[0]), rel=0.01)  # characters


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_samples_spell_the_text_and_come_again_with_their_seed(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    texts = [line.title() for line in LINES]  # lower-cased by the tokenizer
    drawn = [tokenizer.sample(texts, 0.3, seed) for seed in (5, 6, 5)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert drawn[0] != [tokenizer.tokenize(text) for text in texts]
    for tokens in drawn[0] + drawn[1]:
        assert set(tokens) <= set(tokenizer.types())
    assert [tokenizer.detokenize(tokens) for tokens in drawn[0]] == LINES


def config_of(source: float | None, target: float | None) -> DataConfig:
    side = {"tokenizer": "sentencepiece", "vocabulary_size": 30}
    sides = {"source": side | {"subword_sampling": source}, "target": side | {"subword_sampling": target}}
    return DataConfig.model_validate({"joint_vocabulary": True, **sides})


@pytest.mark.parametrize("sampled", [(True, False), (False, True), (True, True)])
def test_epochs_differ_on_the_sampled_sides_alone(text: dict[str, ParallelText], sampled: tuple[bool, bool]) -> None:
    config = config_of(*(0.2 if side else None for side in sampled))
    source, target, pairs, _ = build_codecs(config, text["train"])
    examples = epoch_examples(pairs, source, target, config, seed=3)
    epochs = [examples(number) for number in (0, 1, 0)]
    assert epochs[0] == epochs[2]
    assert epoch_examples(pairs, source, target, config, seed=4)(0) != epochs[0]
    lines = list(zip(text["train"].source, text["train"].target, strict=True))
    for side, (codec, name) in enumerate(((source, "source"), (target, "target"))):
        ids = [[getattr(example, name) for example in epoch] for epoch in epochs]
        assert (ids[0] == ids[1]) is not sampled[side]
        for epoch in ids:
            assert not any(UNK in sentence for sentence in epoch)
            spelled = [codec.tokenizer.detokenize(codec.vocabulary.decode(sentence)) for sentence in epoch]
            assert spelled == [pair[side].lower() for pair in lines]


def test_without_sampling_every_epoch_is_the_same(text: dict[str, ParallelText]) -> None:
    config = config_of(None, None)
    source, target, pairs, _ = build_codecs(config, text["train"])
    examples = epoch_examples(pairs, source, target, config, seed=3)
    assert examples(0) is examples(7)
    assert [example.source for example in examples(0)] == [source.encode(line) for line in text["train"].source]
