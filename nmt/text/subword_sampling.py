"""Words cut into subwords at random, by the scores of a unigram model or the merges of a BPE model.

sentencepiece can do both, but its random numbers repeat inside one process only, and training that resumes in another
must draw the same. No piece reaches into another word, so each word (a space mark and what follows) is cut by itself.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from random import Random

Sampler = Callable[[str, Random], list[str]]  # a word and a generator → its pieces

WORDS_KEPT = 1 << 16  # whose possible pieces are kept in memory
UNKNOWN_PENALTY = 10.0  # sentencepiece's: an unknown character scores so much less than the worst piece


def unigram_sampler(scores: Mapping[str, float], alpha: float) -> Sampler:
    """Draws from all ways to cut a word, P(x) ∝ (∏ p(xᵢ))^α with p = exp(score) (Kudo 2018, section 3.3).

    Filters forward, F(e) = log Σ_b exp(F(b) + α score(b…e)), and samples backward: of the pieces that end at e, the one
    from b is drawn with probability exp(F(b) + α score(b…e) − F(e)). A character that no piece spells is a piece by
    itself; several in a row become one token, as in sentencepiece.
    """
    longest = max(map(len, scores), default=1)
    unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY

    @lru_cache(WORDS_KEPT)
    def last_pieces(word: str) -> list[tuple[list[int], list[float]]]:
        """For each end of a piece its possible beginnings, and their probabilities added up."""
        forward, choices = [0.0], [([0], [1.0])]
        for end in range(1, len(word) + 1):
            begins, weights = [], []
            for begin in range(max(0, end - longest), end):
                score = scores.get(word[begin:end])
                if score is None and begin == end - 1:
                    score = unknown
                if score is not None:
                    begins.append(begin)
                    weights.append(forward[begin] + alpha * score)
            largest = max(weights)
            total = math.fsum(math.exp(weight - largest) for weight in weights)
            forward.append(largest + math.log(total))
            choices.append((begins, list(accumulate(math.exp(weight - largest) / total for weight in weights))))
        return choices

    def sample(word: str, generator: Random) -> list[str]:
        choices = last_pieces(word)
        end, ends = len(word), [len(word)]
        while end:
            begins, sums = choices[end]
            end = begins[0] if len(begins) == 1 else begins[min(bisect(sums, generator.random()), len(begins) - 1)]
            ends.append(end)
        return _join_unknown([word[begin:end] for begin, end in pairwise(reversed(ends))], scores)

    return sample


def bpe_sampler(scores: Mapping[str, float], alpha: float) -> Sampler:
    """Merges the characters of a word, best score first, and leaves out each merge with probability α.

    This is BPE-dropout (Provilkov et al. 2020, section 3), as in sentencepiece: what was left out is not tried again,
    unless another merge makes a new pair in that place.
    """

    def sample(word: str, generator: Random) -> list[str]:
        pieces, left_out = list(word), set[tuple[int, str, str]]()
        while True:
            begins = accumulate(map(len, pieces), initial=0)
            pairs = [
                (-scores[pair[0] + pair[1]], begin, index, pair)
                for index, (begin, pair) in enumerate(zip(begins, pairwise(pieces), strict=False))
                if pair[0] + pair[1] in scores and (begin, *pair) not in left_out
            ]
            if not pairs:
                return _join_unknown(pieces, scores)
            _, begin, index, pair = min(pairs)
            if generator.random() < alpha:
                left_out.add((begin, *pair))
            else:
                pieces[index : index + 2] = ["".join(pair)]

    return sample


def _join_unknown(pieces: list[str], scores: Mapping[str, float]) -> list[str]:
    runs = ((has_score, list(run)) for has_score, run in groupby(pieces, scores.__contains__))
    return [piece for has_score, run in runs for piece in (run if has_score else ["".join(run)])]
