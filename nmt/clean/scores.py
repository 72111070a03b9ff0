"""Dual conditional cross-entropy filtering (Junczys-Dowmunt 2018), from what `nmt score` prints for both directions."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt.system.errors import UserError
from nmt.text.corpus import iterate_lines


def dual_scores(forward: Path, backward: Path, pairs: int) -> NDArray[np.float32]:
    """exp(−(|H₁ − H₂| + (H₁ + H₂) / 2)) of each pair, between 0 and 1, best 1.

    H₁ and H₂ are the cross-entropies per token, in nats, of the target by the model that reads the source, and the
    other way: the negative log-probabilities of `nmt score --per-token`. Raises `UserError` for other files.
    """
    one, other = (-_read(path, pairs) for path in (forward, backward))
    return np.exp(-(np.abs(one - other) + (one + other) / 2))


def _read(path: Path, pairs: int) -> NDArray[np.float32]:
    values = array("f")
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            value = float(line)
        except ValueError:
            value = math.nan
        if not -math.inf < value <= 0:  # nor not a number
            fix = "give what nmt score --per-token prints"
            raise UserError(f"{path}, line {number}: {line[:40]!r} is not a log-probability: {fix}")
        values.append(value)
    if len(values) != pairs:
        raise UserError(f"{path} has {len(values)} lines, the corpus {pairs} pairs: score the same files")
    return np.frombuffer(values, dtype=np.float32)


def too_improbable(scores: NDArray[np.float32], keep_share: float | None, min_score: float | None) -> NDArray[np.bool_]:
    """Of each score whether it is not among the best share, or below the minimum. Equal scores: the first are kept."""
    if min_score is not None:
        return scores < min_score
    kept = np.argsort(-scores, kind="stable")[: math.ceil((keep_share or 1.0) * len(scores))]
    result = np.ones(len(scores), dtype=bool)
    result[kept] = False
    return result
