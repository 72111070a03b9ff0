"""Copies of pairs, and sources with several targets, by hashes of source and pair: 16 bytes a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nmt.clean.settings import SeveralTargets


def copies(pairs: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of each pair's hash (N) whether an earlier one is equal."""
    order = np.argsort(pairs, kind="stable")
    is_copy = np.zeros(len(pairs), dtype=bool)
    is_copy[order[1:]] = pairs[order[1:]] == pairs[order[:-1]]
    return is_copy


def other_targets(sources: NDArray[np.uint64], pairs: NDArray[np.uint64], policy: SeveralTargets) -> NDArray[np.bool_]:
    """Whether each pair (N) has another target than the one that its source keeps.

    That is the most frequent target with `vote`, of several the first one, and the first with `first`. With `keep`
    all are kept.
    """
    if policy == "keep" or not len(pairs):
        return np.zeros(len(pairs), dtype=bool)
    order = np.argsort(pairs, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], pairs[order[1:]] != pairs[order[:-1]]]))
    counts = np.diff(np.append(starts, len(pairs)))
    firsts = order[starts]  # of each distinct pair the first index
    ranking = np.lexsort((firsts, -counts if policy == "vote" else np.zeros_like(counts), sources[firsts]))
    ordered = sources[firsts[ranking]]
    is_other = np.concatenate([[False], ordered[1:] == ordered[:-1]])
    distinct = np.empty(len(starts), dtype=bool)
    distinct[ranking] = is_other
    result = np.empty(len(pairs), dtype=bool)
    result[order] = np.repeat(distinct, counts)
    return result
