"""IBM model 1: how likely each target type is as the translation of a source type, from pairs of id sequences.

Shapes: P pairs, N tokens of a side, C pairs of types that meet in a pair of sentences, S source and T target types.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

MEETINGS = 20_000_000  # of a source with a target token: what is counted takes 40 bytes for each of them
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
    """p(target | source) of all types that meet in some pair, those of a source type next to each other."""

    source: Int[np.ndarray, " C"]
    target: Int[np.ndarray, " C"]
    probability: Float[np.ndarray, " C"]


def translations(source: Side, target: Side, iterations: int = ITERATIONS) -> Translations:
    """p(t | s) of model 1 (Brown et al. 1993, section 4.2), by expectation maximisation from equal probabilities.

    Each target token comes from one source token of its sentence or from none, which is a source type of its own and
    not in the result. It takes 0.2 seconds for a million meetings of two tokens; of a longer text, pairs are left out
    evenly, so that there are about `MEETINGS` of them, and those in which a source type first occurs.
    """
    source, target = _enough(source, target)
    empty = np.full(1, source.types)  # what a target word comes from that no source word explains
    begins = np.cumsum(source.lengths) - source.lengths
    sentence = np.repeat(np.arange(len(target.lengths)), target.lengths)  # of each target token
    choices = source.lengths[sentence] + 1  # each source token, and none
    firsts = np.cumsum(choices) - choices
    places = np.arange(choices.sum()) - np.repeat(firsts - begins[sentence], choices)
    places[firsts + choices - 1] = len(source.ids)
    keys = np.concatenate([source.ids, empty]).astype(np.int64)[places] * target.types
    keys += np.repeat(target.ids.astype(np.int64), choices)
    kinds, kind = np.unique(keys, return_inverse=True)
    source_type, target_type = np.divmod(kinds, target.types)
    probability = np.ones(len(kinds))
    for _ in range(iterations):
        share = probability[kind]
        share /= np.repeat(np.add.reduceat(share, firsts), choices)
        counts = np.bincount(kind, weights=share, minlength=len(kinds))
        totals = np.bincount(source_type, weights=counts)
        probability = counts / totals[source_type]
    known = source_type < source.types
    return Translations(source_type[known], target_type[known], probability[known])


def _enough(source: Side, target: Side) -> tuple[Side, Side]:
    """Of a long text evenly spaced pairs, and those in which a source type first occurs."""
    meetings = (source.lengths.astype(np.int64) + 1) * target.lengths
    chosen = np.zeros(len(meetings), dtype=bool)
    chosen[:: max(1, -(-int(meetings.sum()) // MEETINGS))] = True
    _, first = np.unique(source.ids, return_index=True)
    chosen[np.searchsorted(np.cumsum(source.lengths), first, side="right")] = True
    chosen &= meetings > 0
    return _taken(source, chosen), _taken(target, chosen)


def _taken(side: Side, chosen: Bool[np.ndarray, " P"]) -> Side:
    return Side(side.ids[np.repeat(chosen, side.lengths)], side.lengths[chosen], side.types)
