"""Where two systems differ: sentences by the difference of scores, and n-grams that one gets right more often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import sacrebleu

WRONG, ONLY = "wrong", "only"  # not in the reference; in the reference, and only this translation has it
LONGEST = 4  # words of an n-gram
Words = Sequence[str]


@dataclass(frozen=True)
class Example:
    """A sentence of two systems: its number from 0, both scores, and both translations' words with their marks."""

    number: int
    scores: tuple[float, float]
    marked: tuple[list[tuple[str, str]], list[tuple[str, str]]]


@dataclass(frozen=True)
class NGram:
    """Words that the references have, and how often each of two systems has them right."""

    text: str
    counts: tuple[int, int]


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """SacreBLEU's chrF of each sentence, 0 to 100."""
    metric = sacrebleu.CHRF()
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def largest_differences(
    scores: tuple[Sequence[float], Sequence[float]],
    words: tuple[Sequence[Words], Sequence[Words]],
    references: Sequence[Words],
    count: int,
) -> list[Example]:
    """The sentences in which the first system is better by most, at most `count`, the largest difference first."""
    first, second = scores
    order = sorted(range(len(references)), key=lambda i: second[i] - first[i])
    better = [i for i in order if first[i] > second[i]][:count]
    return [Example(i, (first[i], second[i]), marked(words[0][i], words[1][i], references[i])) for i in better]


def marked(first: Words, second: Words, reference: Words) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Both translations' words with "wrong", "only" or "", by the longest common parts with the reference."""
    places = [_places(words, reference) for words in (first, second)]

    def marks(words: Words, own: dict[int, int], other: dict[int, int]) -> list[tuple[str, str]]:
        kinds = (WRONG if i not in own else "" if own[i] in other.values() else ONLY for i in range(len(words)))
        return list(zip(words, kinds, strict=True))

    return marks(first, *places), marks(second, *places[::-1])


def _places(words: Words, reference: Words) -> dict[int, int]:
    """The position in the reference of each word that is matched."""
    matcher = SequenceMatcher(None, reference, words, autojunk=False)
    return {block.b + i: block.a + i for block in matcher.get_matching_blocks() for i in range(block.size)}


def ngrams_won(first: Sequence[Words], second: Sequence[Words], references: Sequence[Words], count: int) -> list[NGram]:
    """The n-grams (n up to 4) that the first system gets right more often than the second, at most `count`.

    Their order is that of (a + 1) / (a + b + 2) with a and b the numbers of matches, as in compare-mt, longer ones
    first. What is part of a longer one with the same numbers is left out.
    """
    matches = [_matches(sentences, references) for sentences in (first, second)]
    counts = {ngram: (number, matches[1][ngram]) for ngram, number in matches[0].items()}
    won = [(ngram, pair) for ngram, pair in counts.items() if pair[0] > pair[1]]
    won.sort(key=lambda item: (-(item[1][0] + 1) / (sum(item[1]) + 2), -len(item[0]), item[0]))
    chosen: list[tuple[tuple[str, ...], tuple[int, int]]] = []
    for ngram, pair in won:
        if len(chosen) == count:
            break
        if not any(pair == other and _is_part(ngram, longer) for longer, other in chosen):
            chosen.append((ngram, pair))
    return [NGram(" ".join(ngram), pair) for ngram, pair in chosen]


def _matches(sentences: Sequence[Words], references: Sequence[Words]) -> Counter[tuple[str, ...]]:
    """How often each n-gram is in a translation and in its reference, at most as often as there."""
    total: Counter[tuple[str, ...]] = Counter()
    for words, reference in zip(sentences, references, strict=True):
        total.update(_ngrams(words) & _ngrams(reference))
    return total


def _ngrams(words: Words) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(words) - n + 1))


def _is_part(ngram: tuple[str, ...], longer: tuple[str, ...]) -> bool:
    return any(longer[i : i + len(ngram)] == ngram for i in range(len(longer) - len(ngram) + 1))
