"""All that a comparison finds, for a text summary and for a page. The questions are those of compare-mt.

Neubig et al. 2019: compare-mt: A Tool for Holistic Comparison of Language Generation Systems. NAACL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nmt.comparison import sentences as by_sentence
from nmt.comparison.sentences import Example, NGram
from nmt.comparison.texts import Texts, lowercased, words_of
from nmt.comparison.words import Accuracy, accuracies, by_frequency, by_part_of_speech, frequency_labels
from nmt.evaluation.by_length import Bucket, bleu_by_length, source_lengths
from nmt.evaluation.scores import Comparison, Scores, compare, score
from nmt.text.corpus import iterate_lines, of_language
from nmt.text.normalization import normalized

BUCKETS = 5  # of source lengths, each with about as many sentences
BLOCK = 10_000  # training sentences that are cut into words at a time


@dataclass(frozen=True)
class Pair:
    """The first system beside another one. Of `examples` and `ngrams` the former are those that the first one wins."""

    names: tuple[str, str]
    wins: tuple[int, int, int]  # sentences that the first one wins, that the other wins, and ties, by chrF
    examples: tuple[list[Example], list[Example]]
    ngrams: tuple[list[NGram], list[NGram]]


@dataclass(frozen=True)
class Analysis:
    """What a comparison found. `lengths` is empty without sources, `frequencies` without a training text."""

    texts: Texts
    lowercase: bool  # whether all text was lower-cased, after parts of speech were found
    scores: dict[str, Scores]
    tests: list[Comparison]  # BLEU and chrF of each system but the first, against the first
    lengths: dict[str, list[Bucket]]
    frequencies: list[Accuracy]
    parts: list[Accuracy]
    parts_by: str  # what parts of speech are by
    pairs: list[Pair]

    @property
    def bleu_name(self) -> str:
        """BLEU as tables of `nmt evaluate` name it."""
        return "BLEU lc" if self.lowercase else "BLEU"

    def bleu(self, name: str) -> tuple[float | None, str]:
        """A system's BLEU, and its signature."""
        scores, field = self.scores[name], "bleu_lowercase" if self.lowercase else "bleu"
        return getattr(scores, field), scores.signatures[field]


def analyse(
    texts: Texts, *, training: Path | None, pipeline: str | None, lowercase: bool, examples: int, ngrams: int
) -> Analysis:
    """Compare the systems. Raises UserError where the training text or the pipeline cannot be used."""
    labeller, parts_by = by_part_of_speech(texts.language, pipeline, lowercase=lowercase)
    parts = _accuracies(texts, labeller, None)
    texts = lowercased(texts) if lowercase else texts
    scores = {name: score(lines, texts.references, texts.language) for name, lines in texts.systems.items()}
    words = partial(words_of, language=texts.language)
    frequencies = []
    if training is not None:
        labeller = by_frequency(_frequencies(training, texts.language, lowercase=lowercase), words)
        frequencies = _accuracies(texts, labeller, frequency_labels())
    return Analysis(
        texts,
        lowercase,
        scores,
        [
            *compare(texts.systems, texts.references, target_language=texts.language),
            *compare(texts.systems, texts.references, target_language=texts.language, metric="chrf"),
        ],
        _by_length(texts),
        frequencies,
        parts,
        parts_by,
        _pairs(texts, words(texts.references), examples, ngrams),
    )


def _accuracies(texts: Texts, labeller: Any, labels: list[str] | None) -> list[Accuracy]:
    """The accuracy by each label: those given, or all that occur in the references or systems, frequent ones first."""
    references = labeller(texts.references)
    systems = [labeller(lines) for lines in texts.systems.values()]
    if labels is None:
        found = Counter(label for side in (*systems, references) for line in side for _, label in line)
        labels = [label for label, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]
    return accuracies(systems, references, labels)


def _frequencies(path: Path, language: str, *, lowercase: bool) -> Counter[str]:
    """How often each word is in a text. Raises UserError if it cannot be read."""
    frequencies: Counter[str] = Counter()
    block: list[str] = []
    for line in iterate_lines(of_language(path, language)):
        block.append(normalized(line).lower() if lowercase else normalized(line))
        if len(block) == BLOCK:
            frequencies.update(word for words in words_of(block, language) for word in words)
            block = []
    frequencies.update(word for words in words_of(block, language) for word in words)
    return frequencies


def _by_length(texts: Texts) -> dict[str, list[Bucket]]:
    """BLEU by source length, in buckets of about as many sentences each."""
    if texts.sources is None:
        return {}
    lengths = source_lengths(texts.sources, texts.source_language)
    quantiles = np.quantile(lengths, [i / BUCKETS for i in range(1, BUCKETS)], method="lower")
    edges = sorted({max(1, int(edge)) for edge in quantiles if edge < max(lengths)})
    return {
        name: bleu_by_length(lines, texts.references, lengths, edges, language=texts.language)
        for name, lines in texts.systems.items()
    }


def _pairs(texts: Texts, references: Sequence[Sequence[str]], examples: int, ngrams: int) -> list[Pair]:
    """The first system beside each other one."""
    scores = {name: by_sentence.sentence_scores(lines, texts.references) for name, lines in texts.systems.items()}
    words = {name: words_of(lines, texts.language) for name, lines in texts.systems.items()}
    first, *others = texts.systems
    result = []
    for name in others:
        sides = ((first, name), (name, first))
        wins = [sum(a > b for a, b in zip(scores[x], scores[y], strict=True)) for x, y in sides]
        found = [
            by_sentence.largest_differences((scores[x], scores[y]), (words[x], words[y]), references, examples)
            for x, y in sides
        ]
        won = [by_sentence.ngrams_won(words[x], words[y], references, ngrams) for x, y in sides]
        ties = len(references) - sum(wins)
        result.append(Pair((first, name), (wins[0], wins[1], ties), (found[0], found[1]), (won[0], won[1])))
    return result
