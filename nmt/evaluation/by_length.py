"""BLEU by source length, as in Bahdanau et al. (2015, figure 2): do models fall behind on long sentences?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from nmt.evaluation.scores import bleu_from_statistics, bleu_statistics, corpus_bleu, spacy_tokens


@dataclass(frozen=True)
class Bucket:
    """BLEU of the sentences of `low` to `high` source tokens (None: or more), and its 95 % interval.

    BLEU is None where no reference has four words."""

    low: int
    high: int | None
    count: int
    bleu: float | None
    ci_low: float | None
    ci_high: float | None

    @property
    def label(self) -> str:
        """As "11-20", "51+" or, for a single length, "1"."""
        if self.high is None:
            return f"{self.low}+"
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


def source_lengths(sources: Sequence[str], language: str) -> list[int]:
    """Each raw source's number of `spacy_tokens`: the same for every model, whatever its tokenizer."""
    return [len(tokens) for tokens in spacy_tokens(sources, language)]


def bleu_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    edges: Sequence[int],
    samples: int = 1000,
    seed: int = 12345,
    *,
    lowercase: bool = False,
    language: str = "xx",
) -> list[Bucket]:
    """Corpus BLEU, cased or of lower-cased text, of the sentences in each bucket of source length, with 95 % intervals.

    Bucket 0 holds lengths up to edges[0], bucket i those above edges[i−1] up to edges[i], one more those above the last
    edge. The same seed draws the same sentences for every model.
    """
    statistics = bleu_statistics(hypotheses, references, lowercase=lowercase, language=language)
    bucket_of = np.searchsorted(np.asarray(edges, dtype=np.int64), np.asarray(lengths, dtype=np.int64), side="left")
    result = []
    for number, (low, high) in enumerate(zip([1, *(edge + 1 for edge in edges)], [*edges, None], strict=True)):
        counts = statistics[bucket_of == number]
        bleu = corpus_bleu(counts)
        interval = (None, None) if bleu is None else bootstrap_interval(counts, samples, seed)
        result.append(Bucket(low, high, len(counts), bleu, *interval))
    return result


def bootstrap_interval(
    statistics: Int[np.ndarray, "N 10"], samples: int = 1000, seed: int = 12345
) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of BLEU over `samples` resamples of the sentences (Koehn 2004, section 3)."""
    scores = [bleu_from_statistics(total) for total in resampled_sums(statistics, samples, seed)]
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)


def resampled_sums(statistics: Int[np.ndarray, "N C"], samples: int, seed: int) -> Int[np.ndarray, "_ C"]:
    """The columns' sums over as many rows, drawn with replacement: a row of sums for each of `samples` resamples."""
    size = len(statistics)
    # How often each sentence is drawn, for all resamples at once: the sums are then one matrix product.
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=samples)
    return draws @ statistics
