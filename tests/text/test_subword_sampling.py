"""Subwords drawn at random: from the right distribution, and the same again for the same draw."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from nmt.config.run import Config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer, _sentencepiece, train_sentencepiece
from nmt.text.vocabulary import UNK

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


@pytest.mark.parametrize("sampled", [(True, False), (False, True), (True, True), (False, False)])
def test_draws_differ_on_the_sampled_sides_alone(
    make_config: Callable[..., Config], text: dict[str, ParallelText], sampled: tuple[bool, bool]
) -> None:
    names = ("source", "target")
    config = make_config(
        "data.joint_vocabulary=true",
        *(f"data.{name}.{field}" for name in names for field in ("tokenizer=sentencepiece", "vocabulary_size=30")),
        *(f"data.{name}.subword_sampling=0.2" for name, is_sampled in zip(names, sampled, strict=True) if is_sampled),
    )
    pairs = load_training_set(config.data)
    numbers = [7, 3, 0, 44, *range(10, 40)]
    draws = [pairs.examples(numbers, draw) for draw in ("1 0", "1 1", "1 0")]
    assert draws[0] == draws[2]
    for side, name in enumerate(names):
        codec, lines = getattr(pairs, name), getattr(text["train"], name)
        ids = [[getattr(example, name) for example in examples] for examples in draws]
        assert (ids[0] == ids[1]) is not sampled[side]
        for examples in ids:
            assert not any(UNK in sentence for sentence in examples)
            spelled = [codec.tokenizer.detokenize(codec.vocabulary.decode(sentence)) for sentence in examples]
            assert spelled == [lines[number].lower() for number in numbers]
        best = [codec.encode(lines[number]) for number in numbers]
        assert (ids[0] == best) is not sampled[side]
        assert pairs.lengths[side][numbers].tolist() == list(map(len, best))
