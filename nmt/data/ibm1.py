"""IBM model 1: how likely each target token is as the translation of a source token, from pairs of id sequences.

Shapes: P pairs, N tokens of a side, C pairs of distinct tokens that occur in a pair of sentences.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

MEETINGS = 20_000_000  # of a source with a target token, at most: each takes 40 bytes
ITERATIONS = 5


class Side(NamedTuple):
    """The ids of one side's sentences, one after the other, and their lengths. An id is below `types`."""

    ids: Int[np.ndarray, " N"]
    lengths: Int[np.ndarray, " P"]
    types: int


def side_of(sentences: Iterable[Sequence[int]], types: int) -> Side:
    """The side that consists of these sentences."""
    ids, lengths = array("i"), array("i")
    for sentence in sentences:
        ids.extend(sentence)
        lengths.append(len(sentence))
    return Side(np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int32), types)


class Translations(NamedTuple):
    """p(target | source) of all ids that occur together in some pair, those of a source id next to each other."""

    source: Int[np.ndarray, " C"]
    target: Int[np.ndarray, " C"]
    probability: Float[np.ndarray, " C"]


def translations(source: Side, target: Side, iterations: int = ITERATIONS) -> Translations:
    """p(t | s) of model 1 (Brown et al. 1993, section 4.2), by expectation maximisation from equal probabilities.

    Each target token comes from one source token of its sentence or from none, which is an id of its own and not in the
    result. It takes 0.2 seconds for a million meetings of two tokens; of a longer text, pairs are left out evenly, so
    that there are about `MEETINGS` of them, and those in which a source id first occurs.
    """
    source, target = _enough(source, target)
    none = np.full(1, source.types)
    begins = np.cumsum(source.lengths) - source.lengths
    sentence = np.repeat(np.arange(len(target.lengths)), target.lengths)  # of each target token
    choices = source.lengths[sentence] + 1  # each source token, and none
    firsts = np.cumsum(choices) - choices
    positions = np.arange(choices.sum()) - np.repeat(firsts - begins[sentence], choices)
    positions[firsts + choices - 1] = len(source.ids)
    keys = np.concatenate([source.ids, none]).astype(np.int64)[positions] * target.types
    keys += np.repeat(target.ids.astype(np.int64), choices)
    couples, couple = np.unique(keys, return_inverse=True)
    source_ids, target_ids = np.divmod(couples, target.types)
    probability = np.ones(len(couples))
    for _ in range(iterations):
        share = probability[couple]
        share /= np.repeat(np.add.reduceat(share, firsts), choices)
        counts = np.bincount(couple, weights=share, minlength=len(couples))
        totals = np.bincount(source_ids, weights=counts)
        probability = counts / totals[source_ids]
    is_token = source_ids < source.types
    return Translations(source_ids[is_token], target_ids[is_token], probability[is_token])


def _enough(source: Side, target: Side) -> tuple[Side, Side]:
    """Of a long text evenly spaced pairs, and those in which a source id first occurs."""
    meetings = (source.lengths.astype(np.int64) + 1) * target.lengths
    kept = np.zeros(len(meetings), dtype=bool)
    kept[:: max(1, -(-int(meetings.sum()) // MEETINGS))] = True
    _, first = np.unique(source.ids, return_index=True)
    kept[np.searchsorted(np.cumsum(source.lengths), first, side="right")] = True
    kept &= meetings > 0
    return _subset(source, kept), _subset(target, kept)


def _subset(side: Side, kept: Bool[np.ndarray, " P"]) -> Side:
    return Side(side.ids[np.repeat(kept, side.lengths)], side.lengths[kept], side.types)
