"""Subwords drawn at random: from the right distribution, and the same again for the same draw."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from nmt.config.run import Config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText
from nmt.text.subword_sampling import unigram_sampler
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer, loaded, train_sentencepiece
from nmt.text.vocabulary import UNK

SYLLABLES = ["hun", "de", "ro", "ten", "hut", "sie", "ht", "un", "te"]
WORDS = ["".join(syllables) for syllables in itertools.product(SYLLABLES, repeat=2)]
LINES = [" ".join(WORDS[i::7]) for i in range(7)] + [" ".join((WORDS + SYLLABLES)[i:][:5]) for i in range(50)]
COUNT = 20_000


def tokenizer_of(kind: Any) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(train_sentencepiece(LINES, 45, kind, True), True)


def scores_of(tokenizer: SentencePieceTokenizer) -> dict[str, float]:
    model = loaded(tokenizer.model)
    return {piece: model.get_score(model.piece_to_id(piece)) for piece in tokenizer.subwords()}


def assert_drawn_as(expected: Mapping[tuple[str, ...], float], drawn: Sequence[Sequence[str]]) -> None:
    counts = Counter(map(tuple, drawn))
    assert sum(expected.values()) == pytest.approx(1)
    assert len(expected) >= 10
    assert counts.keys() <= expected.keys()
    for segmentation, share in expected.items():
        spread = math.sqrt(share * (1 - share) / COUNT)
        assert counts[segmentation] / COUNT == pytest.approx(share, abs=5 * spread + 1e-4), segmentation


def segmentations(word: str, pieces: set[str]) -> list[tuple[str, ...]]:
    if not word:
        return [()]
    ends = range(1, len(word) + 1)
    return [(word[:end], *rest) for end in ends if word[:end] in pieces for rest in segmentations(word[end:], pieces)]


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_segmentations_are_drawn_by_their_probability_to_the_power_alpha(alpha: float) -> None:
    """Against all segmentations of a word, scored by the product of their subwords' probabilities."""
    tokenizer = tokenizer_of("unigram")
    scores = scores_of(tokenizer)
    weights = {s: math.exp(alpha * sum(map(scores.__getitem__, s))) for s in segmentations("▁huntende", set(scores))}
    expected = {segmentation: weight / sum(weights.values()) for segmentation, weight in weights.items()}
    assert_drawn_as(expected, tokenizer.sample(["huntende"] * COUNT, alpha, seed=1))


def possible_merges(
    pieces: tuple[str, ...], left_out: frozenset[tuple[int, str]], alpha: float, scores: dict[str, float]
) -> Counter[tuple[str, ...]]:
    """The probability of each way to cut a word by BPE-dropout: all decisions, one after the other.

    What was left out at a place (counted in characters) is not tried again while its two halves stay as they are.
    """
    begins = [0, *itertools.accumulate(map(len, pieces))]
    pairs = [
        (-scores[a + b], begins[i], f"{a} {b}", i)
        for i, (a, b) in enumerate(itertools.pairwise(pieces))
        if a + b in scores and (begins[i], f"{a} {b}") not in left_out
    ]
    if not pairs:
        return Counter({pieces: 1.0})
    _, begin, halves, i = min(pairs)
    merged = (*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :])
    total: Counter[tuple[str, ...]] = Counter()
    for share, outcomes in (
        (alpha, possible_merges(pieces, left_out | {(begin, halves)}, alpha, scores)),
        (1 - alpha, possible_merges(merged, left_out, alpha, scores)),
    ):
        for segmentation, probability in outcomes.items():
            total[segmentation] += share * probability
    return total


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_merges_are_left_out_with_probability_alpha(alpha: float) -> None:
    """Against all decisions, enumerated, and against sentencepiece's own sampling."""
    tokenizer = tokenizer_of("bpe")
    expected = possible_merges(tuple("▁huntende"), frozenset(), alpha, scores_of(tokenizer))
    words = ["huntende"] * COUNT
    assert_drawn_as(expected, tokenizer.sample(words, alpha, seed=1))
    assert_drawn_as(expected, loaded(tokenizer.model).encode(words, out_type=str, enable_sampling=True, alpha=alpha))
    assert tokenizer.sample(LINES, 0.0, seed=1) == list(map(tokenizer.tokenize, LINES))  # none is left out


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_samples_spell_the_text_and_come_again_with_their_seed(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    texts = [line.title() for line in LINES]  # lower-cased by the tokenizer
    drawn = [tokenizer.sample(texts, 0.3, seed) for seed in (5, 6, 5)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert drawn[0] != [tokenizer.tokenize(text) for text in texts]
    for tokens in drawn[0] + drawn[1]:
        assert set(tokens) <= set(tokenizer.subwords())
    assert [tokenizer.detokenize(tokens) for tokens in drawn[0]] == LINES
    for text in ("hunt日本hunt 日", "日", "", "日本 un"):  # unknown characters are tokens of their own
        [tokens] = tokenizer.sample([text], 0.001 if kind == "bpe" else 0.999, seed=2)
        assert tokenizer.detokenize(tokens) == text
        unknown = [[t for t in some if set(t) & set("日本")] for some in (tokens, tokenizer.tokenize(text))]
        assert unknown[0] == unknown[1]


@pytest.mark.parametrize("sampled", [(True, False), (False, True)])
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
    indices = [7, 3, 0, 44, *range(10, 40)]
    draws = [pairs.examples(indices, draw) for draw in ("1 0", "1 1", "1 0")]
    assert draws[0] == draws[2]
    for side, name in enumerate(names):
        codec, lines = getattr(pairs, name), [getattr(text["train"], name)[index] for index in indices]
        ids = [[getattr(example, name) for example in examples] for examples in draws]
        best = list(map(codec.encode, lines))
        assert (ids[0] == ids[1]) is (ids[0] == best) is not sampled[side]
        for sentence, line in zip(ids[0] + ids[1], lines * 2, strict=True):
            assert UNK not in sentence
            assert codec.decode(sentence) == line.lower()
        assert pairs.lengths[side][indices].tolist() == list(map(len, best))


def test_a_letter_is_not_drawn_as_unknown_where_a_piece_has_it() -> None:
    draw = unigram_sampler({"ab": -1.0, "b": -2.0}, 1.0)
    assert all(draw("ab", Random(seed)) == ["ab"] for seed in range(2000))
