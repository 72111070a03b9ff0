"""Subwords drawn at random: from the right distribution, and the same again for the same draw."""

import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import nmt
from nmt.config.run import Config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText
from nmt.text.subword_sampling import bpe_sampler, unigram_sampler
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer, loaded, train_sentencepiece
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
    model = loaded(tokenizer.model)
    possible = segmentations("▁huntende", set(tokenizer.subwords()))
    weights = [math.exp(alpha * sum(model.get_score(model.piece_to_id(piece)) for piece in s)) for s in possible]
    count = 20_000
    drawn = Counter(map(tuple, tokenizer.sample(["huntende"] * count, alpha, seed=1)))
    assert len(possible) >= 10
    assert drawn.keys() <= set(possible)
    for segmentation, weight in zip(possible, weights, strict=True):
        share = weight / sum(weights)
        spread = math.sqrt(share * (1 - share) / count)
        assert drawn[segmentation] / count == pytest.approx(share, abs=5 * spread + 1e-4), segmentation


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
        if a + b in scores
    ]
    pairs = [pair for pair in pairs if (pair[1], pair[2]) not in left_out]
    if not pairs:
        return Counter({pieces: 1.0})
    _, begin, halves, i = min(pairs)
    merged = (*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :])
    found: Counter[tuple[str, ...]] = Counter()
    for share, outcomes in (
        (alpha, possible_merges(pieces, left_out | {(begin, halves)}, alpha, scores)),
        (1 - alpha, possible_merges(merged, left_out, alpha, scores)),
    ):
        for segmentation, probability in outcomes.items():
            found[segmentation] += share * probability
    return found


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_merges_are_left_out_with_probability_alpha(alpha: float) -> None:
    """Against all decisions, enumerated, and against sentencepiece's own sampling."""
    tokenizer = tokenizer_of("bpe")
    model = loaded(tokenizer.model)
    scores = {piece: model.get_score(model.piece_to_id(piece)) for piece in tokenizer.subwords()}
    expected = possible_merges(tuple("▁huntende"), frozenset(), alpha, scores)
    count = 20_000
    drawn = Counter(map(tuple, tokenizer.sample(["huntende"] * count, alpha, seed=1)))
    theirs = Counter(map(tuple, model.encode(["huntende"] * count, out_type=str, enable_sampling=True, alpha=alpha)))
    assert sum(expected.values()) == pytest.approx(1)
    assert len(expected) >= 10
    assert drawn.keys() <= expected.keys()
    for segmentation, share in expected.items():
        spread = math.sqrt(share * (1 - share) / count)
        assert drawn[segmentation] / count == pytest.approx(share, abs=5 * spread + 1e-4), segmentation
        assert theirs[segmentation] / count == pytest.approx(share, abs=5 * spread + 1e-4), segmentation


def test_without_dropout_the_merges_are_those_of_sentencepiece() -> None:
    tokenizer = tokenizer_of("bpe")
    for line in LINES:
        assert tokenizer.sample([line], 0.0, seed=1) == [tokenizer.tokenize(line)]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_unknown_characters_are_tokens_of_their_own(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    for text in ("hunt日本hunt 日", "日", "", "日本 un"):
        [tokens] = tokenizer.sample([text], 0.001 if kind == "bpe" else 0.999, seed=2)
        assert tokenizer.detokenize(tokens) == text
        assert [t for t in tokens if set(t) & set("日本")] == [
            t for t in tokenizer.tokenize(text) if set(t) & set("日本")
        ]


PROGRAM = """
import sys
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer
tokenizer = SentencePieceTokenizer(open(sys.argv[1], "rb").read(), True)
tokenizer.sample(["other text before"] * int(sys.argv[2]), 0.3, seed=8)
print(tokenizer.sample(["hunde rotehut siehtun"] * 5, 0.3, seed=7))
"""


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_another_process_draws_the_same(tmp_path: Path, kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    path = tmp_path / "model"
    path.write_bytes(tokenizer.model)
    environment = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1]), "PYTHONHASHSEED": "3"}
    arguments = [sys.executable, "-c", PROGRAM, str(path), "3"]
    said = subprocess.run(arguments, env=environment, capture_output=True, encoding="utf-8", check=True).stdout
    assert said == f"{tokenizer.sample(['hunde rotehut siehtun'] * 5, 0.3, seed=7)}\n"


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


def test_a_merge_of_what_is_merged_already_is_passed_over() -> None:
    letters = dict.fromkeys("abcx", -9.0)
    assert bpe_sampler(letters | {"xa": -1.0, "bc": -2.0, "ab": -3.0}, 0.0)("xabc", Random(0)) == ["xa", "bc"]
    assert bpe_sampler(letters | {"bc": -1.0, "abc": -2.0, "ab": -3.0}, 0.0)("abc", Random(0)) == ["abc"]


def test_a_letter_is_not_drawn_as_unknown_where_a_piece_has_it() -> None:
    draw = unigram_sampler({"ab": -1.0, "b": -2.0}, 1.0)
    assert all(draw("ab", Random(seed)) == ["ab"] for seed in range(2000))
