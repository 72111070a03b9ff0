"""What the checks of lesson 6 are made of: references in plain Python, frequent mistakes, and their hints."""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nmt.course.checking import Answer, Exercise

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Tokens = list[str]


def ngrams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


# 6.2 Clipped matches -------------------------------------------------------------------------------------------------
def matches_arguments(rng: np.random.Generator) -> tuple[Tokens, Tokens, int]:
    """Few different words, so that some come more often in one sentence than in the other."""
    hypothesis, reference = (list(rng.choice(list("abc"), size=size)) for size in (9, 7))
    return ["a", "a", "b", "b", *map(str, hypothesis)], ["a", "b", "b", *map(str, reference)], 2


def clipped_matches(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    matches = ngrams(hypothesis, n) & ngrams(reference, n)  # the smaller of both counts
    return [sum(matches.values()), max(len(hypothesis) - n + 1, 0)]


def matches_unclipped(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    present = ngrams(reference, n)
    return [sum(k for gram, k in ngrams(hypothesis, n).items() if gram in present), len(hypothesis) - n + 1]


def matches_of_kinds(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    return [len(ngrams(hypothesis, n).keys() & ngrams(reference, n).keys()), len(hypothesis) - n + 1]


def matches_of_reference(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    return [clipped_matches(hypothesis, reference, n)[0], len(reference) - n + 1]


def matches_of_tokens(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    return [clipped_matches(hypothesis, reference, n)[0], len(hypothesis)]


def matches_of_words(hypothesis: Tokens, reference: Tokens, n: int) -> list[int]:
    return clipped_matches(hypothesis, reference, 1)


# 6.3 The brevity penalty ---------------------------------------------------------------------------------------------
def penalty_arguments(rng: np.random.Generator) -> tuple[int, int]:
    """Of the first three seeds one has a longer hypothesis than reference, two a shorter one."""
    return int(rng.integers(18, 28)), 24


def brevity_penalty(hypothesis: int, reference: int) -> float:
    return min(1.0, math.exp(1 - reference / hypothesis))


# 6.5 BLEU of a corpus ------------------------------------------------------------------------------------------------
def corpus_arguments(rng: np.random.Generator) -> tuple[list[Tokens], list[Tokens]]:
    """Four sentences of different lengths; each hypothesis is its reference with one word changed, and a bit short."""
    references = [list(map(str, rng.integers(0, 12, size=size))) for size in (9, 12, 15, 24)]
    hypotheses = [[*line[:2], "x", *line[3:-cut]] for line, cut in zip(references, (1, 1, 2, 3), strict=True)]
    return hypotheses, references


def corpus_statistics(hypotheses: list[Tokens], references: list[Tokens]) -> Array:
    """Of each sentence: four numbers of matches, four of n-grams, the length of hypothesis and reference."""
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        counts = [clipped_matches(hypothesis, reference, n) for n in (1, 2, 3, 4)]
        rows.append([*(a for a, _ in counts), *(b for _, b in counts), len(hypothesis), len(reference)])
    return np.array(rows, dtype=float)


def precisions(sums: Array) -> Array:
    return sums[..., :4] / np.maximum(sums[..., 4:8], 1)


def bleu_of_sums(sums: Array) -> Array:
    with np.errstate(divide="ignore"):
        mean = np.log(precisions(sums)).mean(axis=-1)
    return 100 * np.exp(mean + np.minimum(0, 1 - sums[..., 9] / sums[..., 8]))


def corpus_bleu(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    return float(bleu_of_sums(corpus_statistics(hypotheses, references).sum(axis=0)))


def mean_of_sentences(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    return float(bleu_of_sums(corpus_statistics(hypotheses, references)).mean())


def without_penalty(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    sums = corpus_statistics(hypotheses, references).sum(axis=0)
    return float(100 * np.exp(np.log(precisions(sums)).mean()))


def arithmetic_mean(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    sums = corpus_statistics(hypotheses, references).sum(axis=0)
    return float(100 * precisions(sums).mean() * math.exp(min(0, 1 - sums[9] / sums[8])))


def product(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    sums = corpus_statistics(hypotheses, references).sum(axis=0)
    return float(100 * precisions(sums).prod() * math.exp(min(0, 1 - sums[9] / sums[8])))


def mean_of_precisions(hypotheses: list[Tokens], references: list[Tokens]) -> float:
    statistics = corpus_statistics(hypotheses, references)
    sums = statistics.sum(axis=0)
    means = precisions(statistics).mean(axis=0)
    return float(100 * np.exp(np.log(means).mean() + min(0, 1 - sums[9] / sums[8])))


# 6.8 Paired bootstrap ------------------------------------------------------------------------------------------------
def bootstrap_arguments(rng: np.random.Generator) -> tuple[Array, Array, Indices, Callable[[Array], Array]]:
    """Statistics of twelve sentences by two systems that are about equally good, and 200 resamples."""
    systems = []
    for _ in range(2):
        length = rng.integers(8, 20, size=12)
        totals = length[:, None] - np.arange(4)
        matches = (totals * rng.uniform(0.3, 0.9, size=(12, 1)) * np.array([1, 0.9, 0.8, 0.7])).astype(int)
        systems.append(np.concatenate([matches, totals, length[:, None], length[:, None] + 1], axis=1).astype(float))
    return systems[0], systems[1], rng.integers(0, 12, size=(200, 12)), bleu_of_any


def bleu_of_any(sums: Array) -> Array:
    """`bleu_of_sums`, of tensors, too: then a tensor."""
    import torch

    return torch.from_numpy(bleu_of_sums(sums.numpy())) if isinstance(sums, torch.Tensor) else bleu_of_sums(sums)  # type: ignore[return-value]


Score = Callable[[Array], Array]


def paired_bootstrap(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return float((score(a[indices].sum(axis=1)) > score(b[indices].sum(axis=1))).mean())


def bootstrap_unpaired(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return float((score(a[indices].sum(axis=1)) > score(b[indices[::-1]].sum(axis=1))).mean())


def bootstrap_reversed(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return paired_bootstrap(b, a, indices, score)


def bootstrap_of_sentences(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return float((score(a)[indices].mean(axis=1) > score(b)[indices].mean(axis=1)).mean())


def bootstrap_of_shares(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return float((score(a) > score(b))[indices].mean())


def bootstrap_difference(a: Array, b: Array, indices: Indices, score: Score) -> float:
    return float((score(a[indices].sum(axis=1)) - score(b[indices].sum(axis=1))).mean())


EXERCISES = {
    "6.1": Answer(
        "answer_6_1",
        digest="1aa9151d2d9c6f98",
        hints={
            "12": "'the' comes four times in the hypothesis and only twice in the reference. It counts twice.",
            "9": "'the' counts twice, each other word in both sentences once. The full stop is a token, too.",
            "8": "'the' counts twice, as often as in the reference, and the full stop is a token, too.",
            "11": "'the' counts as often as it comes in the reference: twice.",
        },
    ),
    "6.2": Exercise(
        "clipped_matches",
        matches_arguments,
        clipped_matches,
        {
            "Not clipped: an n-gram counts at most as often as it comes in the reference.": matches_unclipped,
            "Repeated n-grams count, too, as often as they come in both: compare counts, not sets.": matches_of_kinds,
            "The total is the number of n-grams of the hypothesis, not of the reference.": matches_of_reference,
            "A sentence of c tokens has c − n + 1 n-grams.": matches_of_tokens,
            "These are single tokens: n is not used.": matches_of_words,
        },
    ),
    "6.3": Exercise(
        "brevity_penalty",
        penalty_arguments,
        brevity_penalty,
        {
            "A long hypothesis gets no reward: the penalty is at most 1.": lambda hypothesis, reference: math.exp(
                1 - reference / hypothesis
            ),
            "The quotient is reversed: r / c, the reference's length over the hypothesis'.": (
                lambda hypothesis, reference: min(1.0, math.exp(1 - hypothesis / reference))
            ),
            "This is c / r; the penalty is exp(1 − r / c).": lambda hypothesis, reference: min(
                1.0, hypothesis / reference
            ),
            "The 1 is missing in exp(1 − r / c).": lambda hypothesis, reference: (
                1.0 if hypothesis >= reference else math.exp(-reference / hypothesis)
            ),
        },
    ),
    "6.4": Answer(
        "answer_6_4",
        digest="191fbb166947fba4",
        hints={
            "35.1": "The brevity penalty is missing: the hypothesis has 12 tokens, the reference 13.",
            "0.3": "Give it from 0 to 100, with one decimal.",
            "0.32": "Give it from 0 to 100, with one decimal.",
            "0.323": "Give it from 0 to 100, with one decimal.",
            "44.8": "The mean of the precisions is geometric, not arithmetic. And is there a brevity penalty?",
            "41.2": "The mean of the precisions is geometric, not arithmetic.",
            "32.0": "Nearly. Did you round in between?",
        },
    ),
    "6.5": Exercise(
        "corpus_bleu",
        corpus_arguments,
        corpus_bleu,
        {
            "This is the mean of the sentences' BLEU. Sum matches and totals over the corpus first.": mean_of_sentences,
            "The brevity penalty is missing.": without_penalty,
            "The mean of the four precisions is geometric: exp of the mean of their logarithms.": arithmetic_mean,
            "The fourth root is missing: this is the product of the precisions.": product,
            "A precision is of the whole corpus: divide sums, and do not average shares.": mean_of_precisions,
            "BLEU is given from 0 to 100.": lambda hypotheses, references: corpus_bleu(hypotheses, references) / 100,
        },
    ),
    "6.6": Answer(
        "answer_6_6",
        digest="bfa31266d7c8bca7",
        hints={
            "a": "The seed decides the initial weights, the order of the batches and the dropout.",
            "b": "Look at the figures: the models are small, and so is the test set.",
        },
    ),
    "6.7": Answer(
        "answer_6_7",
        digest="db6df36defe8b11e",
        hints={
            "b": "Its signature has case:lc, the paper's has case:mixed.",
            "c": "tok:none: the tokens are the model's own, and so are the n-grams.",
            "d": "tok:char: its n-grams are of characters.",
        },
    ),
    "6.8": Exercise(
        "paired_bootstrap",
        bootstrap_arguments,
        paired_bootstrap,
        {
            "Both systems must get the same sentences in each resample: this is not paired.": bootstrap_unpaired,
            "This is the share of resamples in which B is better.": bootstrap_reversed,
            "Sum the statistics of a resample, then compute its BLEU; do not average.": bootstrap_of_sentences,
            "This compares sentences. Compare the two BLEU of each resample.": bootstrap_of_shares,
            "This is the mean difference. Count how often it is above 0.": bootstrap_difference,
        },
    ),
    "6.9": Answer(
        "answer_6_9",
        digest="1e8b43da61dfed0e",
        hints={
            "a": "No second training of either system took part in the test.",
            "c": "The resamples are made of the sentences of this test set.",
        },
    ),
    "6.10": Answer(
        "answer_6_10",
        digest="be6c79bf4c66c018",
        hints={
            "2": "The width goes with 1/√n. For which factor is √factor = 2?",
            "1.4": "That is √2. The other way round: for which factor is √factor = 2?",
            "8": "The width goes with 1/√n. For which factor is √factor = 2?",
        },
    ),
    "6.11": Answer(
        "answer_6_11",
        digest="d2855f8d0b25476e",
        hints={
            "a": "p = 0.095: such a difference comes by chance in about one of ten comparisons of equal systems.",
            "c": "A large p is no proof of equality. Look at the spread of its three scores.",
            "d": "What is the p of this comparison? And one of the three seeds is the other way round.",
        },
    ),
    "6.12": Answer(
        "answer_6_12",
        digest="3efb9e3b72263038",
        hints={
            "0": "With p < 0.05 as the limit, one of twenty comparisons of equal systems passes by chance.",
            "0.05": "That is the chance of one comparison. There are 25.",
            "1": "Nearly: 25 times 0.05. Give two decimals.",
            "1.3": "Nearly. Give two decimals.",
            "25": "25 are compared; each passes with probability 0.05.",
        },
    ),
}
