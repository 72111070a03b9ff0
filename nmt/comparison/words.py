"""Which words a system gets right, by a label of each word: how frequent it is in training, or its part of speech.

As in compare-mt (Neubig et al. 2019): a word of a translation is right if the reference has it, at most as often as
there. Precision is the fraction of right words among the translation's words with a label, recall that among the
reference's, and F1 their harmonic mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Int

from nmt.evaluation.by_length import resampled_sums
from nmt.system.errors import UserError
from nmt.text.tokenizers.spacy import language_of_rules

FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000)  # the lowest of each bucket
Labelled = list[tuple[str, str]]  # a sentence's words, each with its label
Labeller = Callable[[Sequence[str]], list[Labelled]]
SAMPLES, SEED = 1000, 12345


@dataclass(frozen=True)
class Accuracy:
    """F1 (0 to 100) of each system's words with a label; None where neither side has any.

    `count` is the number of the references' words. `intervals` are those of the differences to the first system: 95 %
    of resamples of the sentences (Koehn 2004).
    """

    label: str
    count: int
    f1: list[float | None]
    intervals: list[tuple[float, float] | None]

    def is_clear(self, number: int) -> bool:
        """Whether the interval of a system's difference to the first one is without 0."""
        interval = self.intervals[number]
        return interval is not None and (interval[0] > 0 or interval[1] < 0)


def accuracies(systems: Sequence[list[Labelled]], references: list[Labelled], labels: Iterable[str]) -> list[Accuracy]:
    """The accuracy of the words with each label that a reference or a translation has."""
    counted = [_statistics(sentences, references) for sentences in systems]
    size, result = len(references), []
    for label in labels:
        statistics = [by_label.get(label, np.zeros((size, 3), dtype=np.int64)) for by_label in counted]
        totals = [columns.sum(axis=0) for columns in statistics]
        if any(total[1:].any() for total in totals):
            sums = resampled_sums(np.concatenate(statistics, axis=1), SAMPLES, SEED)
            f1 = [_f1(sums[:, 3 * i : 3 * i + 3]) for i in range(len(systems))]
            intervals = [_interval(other - f1[0]) if i else None for i, other in enumerate(f1)]
            values = [float(_f1(total[None])[0]) if total[1:].any() else None for total in totals]
            result.append(Accuracy(label, int(totals[0][2]), values, intervals))
    return result


def _statistics(sentences: list[Labelled], references: list[Labelled]) -> dict[str, Int[np.ndarray, "N 3"]]:
    """For each label, of each sentence: its right words, the translation's, and the reference's."""
    counts: dict[str, Int[np.ndarray, "N 3"]] = {}
    for number, (sentence, reference) in enumerate(zip(sentences, references, strict=True)):
        words = Counter(sentence), Counter(reference)
        for column, counter in enumerate((words[0] & words[1], *words)):
            for (_, label), count in counter.items():
                columns = counts.setdefault(label, np.zeros((len(references), 3), dtype=np.int64))
                columns[number, column] += count
    return counts


def _f1(sums: Int[np.ndarray, "N 3"]) -> Any:
    """100 · 2 right / (translation + reference) of each row; NaN where both are 0."""
    with np.errstate(invalid="ignore"):
        return 200 * sums[:, 0] / (sums[:, 1] + sums[:, 2])


def _interval(differences: Any) -> tuple[float, float] | None:
    """The 2.5th and 97.5th percentile; None where some resamples have no such words."""
    low, high = np.percentile(differences, [2.5, 97.5])
    return None if np.isnan(low) else (float(low), float(high))


def frequency_labels() -> list[str]:
    """The buckets' names: "0", "1", "2–4", …, "1000 and more"."""
    buckets = [f"{low}" if high == low + 1 else f"{low}–{high - 1}" for low, high in pairwise(FREQUENCIES)]
    return [*buckets, f"{FREQUENCIES[-1]:,} and more"]


def by_frequency(frequencies: Counter[str], words: Callable[[Sequence[str]], list[list[str]]]) -> Labeller:
    """Label each word by how often the training text has it."""
    names = frequency_labels()

    def label(sentences: Sequence[str]) -> list[Labelled]:
        return [
            [(word, names[int(np.searchsorted(FREQUENCIES, frequencies[word], side="right")) - 1]) for word in sentence]
            for sentence in words(sentences)
        ]

    return label


def by_part_of_speech(language: str, pipeline: str | None, *, lowercase: bool) -> tuple[Labeller, str]:
    """Label each word by its part of speech, and say by what: a spaCy pipeline, or else its letters alone.

    Takes the pipeline of that name or path, or the first that is installed for the language. Raises UserError if there
    is no such pipeline, or if it gives no parts of speech.
    """
    import spacy

    installed = [name for name in sorted(spacy.util.get_installed_models()) if name.startswith(f"{language}_")]
    name = pipeline or next(iter(installed), None)
    if name is None:
        blank = spacy.blank(language_of_rules(language))
        return lambda sentences: _labelled(map(blank, sentences), _kind, lowercase), "letters (no spaCy pipeline)"
    try:
        tagger = spacy.load(name)
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"--pipeline {name}: spaCy cannot load it ({error}): install it, or leave it out") from None
    if not all(token.pos_ for token in tagger("a")):
        raise UserError(f"--pipeline {name}: it gives no parts of speech: choose one with a tagger, or leave it out")
    return lambda sentences: _labelled(tagger.pipe(sentences), lambda token: token.pos_, lowercase), f"spaCy's {name}"


def _labelled(documents: Iterable[Any], label: Callable[[Any], str], lowercase: bool) -> list[Labelled]:
    def words(document: Any) -> Iterator[tuple[str, str]]:
        for token in document:
            if not token.is_space:
                yield token.lower_ if lowercase else token.text, label(token)

    return [list(words(document)) for document in documents]


def _kind(token: Any) -> str:
    """What a word's letters alone say."""
    if token.like_num or token.is_digit:
        return "number"
    if token.is_punct or not any(character.isalnum() for character in token.text):
        return "punctuation"
    return "capitalised word" if token.text[0].isupper() else "other word"
