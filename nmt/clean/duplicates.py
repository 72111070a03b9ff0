"""Copies of pairs, and sources with several targets, by hashes of source and pair: 16 bytes a pair, and as many again
while they are sorted. N pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nmt.clean.settings import SeveralTargets

CHUNK = 1 << 18  # hashes that are looked up at once


def copies(pairs: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of each pair's hash (N) whether an earlier one is equal."""
    order = np.argsort(pairs, kind="stable")
    ordered = pairs[order]
    is_copy = np.zeros(len(pairs), dtype=bool)
    is_copy[order[1:]] = ordered[1:] == ordered[:-1]
    return is_copy


def other_targets(sources: NDArray[np.uint64], pairs: NDArray[np.uint64], policy: SeveralTargets) -> NDArray[np.bool_]:
    """Whether each pair (N) has another target than the one that its source keeps.

    That is the most frequent target with `vote`, of several the first one, and the first with `first`. With `keep`
    all are kept.
    """
    is_other = np.zeros(len(pairs), dtype=bool)
    if policy != "keep":
        some = _of_repeated(sources)
        is_other[some] = _losers(sources[some], pairs[some], policy == "vote")
    return is_other


def _of_repeated(sources: NDArray[np.uint64]) -> NDArray[np.intp]:
    """The indices of sources that occur more than once, in their order: few of most corpora."""
    ordered = np.sort(sources)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    indices = [np.empty(0, dtype=np.intp)]
    for start in range(0, len(sources) if len(repeated) else 0, CHUNK):
        chunk = sources[start : start + CHUNK]
        places = np.minimum(np.searchsorted(repeated, chunk), len(repeated) - 1)
        indices.append(start + np.flatnonzero(repeated[places] == chunk))
    return np.concatenate(indices)


def _losers(sources: NDArray[np.uint64], pairs: NDArray[np.uint64], by_votes: bool) -> NDArray[np.bool_]:
    order = np.argsort(pairs, kind="stable")
    starts = np.flatnonzero(np.append(True, pairs[order[1:]] != pairs[order[:-1]])[: len(pairs)])
    counts = np.diff(np.append(starts, len(pairs)))
    firsts = order[starts]  # of each distinct pair the first index
    ranking = np.lexsort((firsts, -counts if by_votes else np.zeros_like(counts), sources[firsts]))
    ordered = sources[firsts[ranking]]
    distinct = np.zeros(len(starts), dtype=bool)
    distinct[ranking[1:]] = ordered[1:] == ordered[:-1]
    result = np.empty(len(pairs), dtype=bool)
    result[order] = np.repeat(distinct, counts)
    return result
