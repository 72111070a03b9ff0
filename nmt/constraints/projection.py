"""Where spans and positions of a text lie in its translation, by word alignment.

A span is projected to the contiguous range R of the target whose links agree most with it. With in(t) the weight of the
links of target atom t into the span, and all(t) the weight of all its links,

    precision = Σ_{t∈R} in(t) / Σ_{t∈R} all(t),    recall = Σ_{t∈R} in(t) / Σ_t in(t),
    F1 = 2 Σ_{t∈R} in(t) / (Σ_{t∈R} all(t) + Σ_t in(t))

(projection by the links inside and outside a span: Zenkel, Wuebker and DeNero 2021, "Automatic bilingual markup
transfer"). A position is projected to the cut of the target with most weight of links on the side where they are in the
source, the nearer the more, and with a like context. The ranges of a span's children are in its range and do not
overlap: spans nest as in the source.

Shapes: T target atoms, S source atoms.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DIAGONAL = 1e-3  # weight of a link on the diagonal, which decides where no other does
DECAY = 0.8  # of the weight of a link, for each atom between it and the position that is projected
CONTEXT = 6.0  # links that a cut's context is worth


@dataclass(frozen=True)
class Span:
    """A span [start, end) of source atoms, or a position (`start` is `end`); `parent` is the span around it, or -1.

    Spans are sorted by their first tag. Fixed ones keep their order: positions, and spans around positions. At the ends
    of a break, such as a paragraph, a sentence ends.
    """

    start: int
    end: int
    parent: int
    is_fixed: bool
    is_break: bool


@dataclass(frozen=True)
class Evidence:
    """The weights of links between atoms, those of the diagonal, and how alike the contexts of cuts are."""

    weights: Float[ndarray, "T S"]
    diagonal: Float[ndarray, "T S"]
    agreement: Float[ndarray, "T+1 S+1"]

    def within(self, low: int, high: int) -> Evidence:
        """That of the target atoms from `low` to `high`."""
        return Evidence(self.weights[low:high], self.diagonal[low:high], self.agreement[low : high + 1])

    def cut_scores(self, position: int) -> Float[ndarray, " T+1"]:
        """How well each cut of the target is a cut of the source."""
        distance = np.abs(np.arange(self.weights.shape[1]) + 0.5 - position) - 0.5
        near = (self.weights + self.diagonal) * DECAY**distance
        before, after = near[:, :position].sum(axis=1), near[:, position:].sum(axis=1)
        return np.asarray(_sums(before) + after.sum() - _sums(after) + CONTEXT * self.agreement[:, position])


def project(
    spans: Sequence[Span], weights: Float[ndarray, "T S"], agreement: Float[ndarray, "T+1 S+1"]
) -> list[tuple[int, int]]:
    """The range of target atoms of each span; that of a position is empty."""
    size, length = weights.shape
    distance = np.abs((np.arange(size)[:, None] + 0.5) / max(size, 1) - (np.arange(length) + 0.5) / max(length, 1))
    evidence = Evidence(weights, DIAGONAL * np.exp(-8 * distance) / max(length, 1), agreement)
    children: dict[int, list[int]] = {}
    for number, span in enumerate(spans):
        children.setdefault(span.parent, []).append(number)
    ranges = [(0, 0)] * len(spans)
    for parent in sorted(children):
        outer = (0, length) if parent < 0 else (spans[parent].start, spans[parent].end)
        _place(children[parent], spans, outer, (0, size) if parent < 0 else ranges[parent], evidence, ranges)
    return ranges


def _place(
    children: Sequence[int],
    spans: Sequence[Span],
    outer: tuple[int, int],
    inside: tuple[int, int],
    evidence: Evidence,
    ranges: list[tuple[int, int]],
) -> None:
    """Set the ranges of the children of a span, `outer` in the source and `inside` in the target.

    Blocks, in their order, are children between breaks, neighbours and the ends of the span. Then follow the others,
    between the same blocks as in the source.
    """
    starts, ends = {spans[n].start for n in children}, {spans[n].end for n in children}
    breaks = {edge for n in children if spans[n].is_break for edge in (spans[n].start, spans[n].end)}
    edges = {*outer, *breaks, *(starts & ends)}
    blocks = {n for n in children if {spans[n].start, spans[n].end} <= edges}
    cuts = sorted({*outer, *(edge for n in blocks for edge in (spans[n].start, spans[n].end))})
    places = [inside[0] + place for place in _cuts(cuts, evidence.within(*inside))]
    of_cuts = dict(zip(cuts, places, strict=True))
    between: dict[int, list[int]] = {}
    for n in children:
        if n in blocks:
            ranges[n] = of_cuts[spans[n].start], of_cuts[spans[n].end]
        else:
            between.setdefault(bisect_right(cuts, spans[n].start), []).append(n)
    for i, others in between.items():
        _place_inline(others, spans, (places[i - 1], places[i]), evidence, ranges)


def _cuts(cuts: Sequence[int], evidence: Evidence) -> list[int]:
    """The best cuts of the target for those of the source, the ends for the first and the last.

    They are in the same order; between two is an atom at least, unless there are too few.
    """
    size = len(evidence.weights)
    step = int(size >= len(cuts) - 1)
    only_first = np.where(np.arange(size + 1) == 0, 0.0, -np.inf)
    best, back = only_first, []
    for cut in cuts[1:]:
        reach = np.maximum.accumulate(best)
        origin = np.maximum.accumulate(np.where(best == reach, np.arange(size + 1), 0))
        back.append(np.concatenate([[0] * step, origin[: size + 1 - step]]))
        scores = evidence.cut_scores(cut) if cut < cuts[-1] else only_first[::-1]
        best = scores + np.concatenate([[-np.inf] * step, reach[: size + 1 - step]])
    places = [size]
    for origin in reversed(back):
        places.append(int(origin[places[-1]]))
    return places[::-1]


def _place_inline(
    children: Sequence[int],
    spans: Sequence[Span],
    inside: tuple[int, int],
    evidence: Evidence,
    ranges: list[tuple[int, int]],
) -> None:
    """Set the ranges of children within `inside`: first those with text, the surest first."""
    low, high = inside
    evidence = evidence.within(low, high)
    owners = np.zeros(high - low, dtype=int)  # of each target atom: the child whose range it is in, from 1
    placed: dict[int, tuple[int, int]] = {}

    def bounds(n: int) -> tuple[int, int]:
        fixed = {other: place for other, place in placed.items() if spans[other].is_fixed and spans[n].is_fixed}
        before = max((end for other, (_, end) in fixed.items() if other < n), default=0)
        return before, min((start for other, (start, _) in fixed.items() if other > n), default=high - low)

    with_text = [n for n in children if spans[n].start < spans[n].end]
    score = {n: _best(spans[n], evidence, owners, (0, high - low))[0] for n in with_text}
    sums = {n: np.sum(evidence.weights[:, spans[n].start : spans[n].end], axis=1) for n in with_text}
    best = {n: int(np.argmax(sums[n])) for n in with_text if high > low}  # the atom with most weight is kept for it
    for n in sorted(with_text, key=lambda n: -score[n]):
        reserved = owners.copy()
        for other, atom in best.items():
            if other not in placed and sums[other][atom] > sums[n][atom]:
                reserved[atom] = other + 1
        _, (start, end) = _best(spans[n], evidence, reserved, bounds(n))
        if start < end:
            owners[start:end] = n + 1
            placed[n] = start, end
    for n in children:
        if n not in placed:
            scores = evidence.cut_scores(spans[n].start)
            scores[1:-1][(owners[1:] == owners[:-1]) & (owners[1:] > 0)] = -np.inf
            before, after = bounds(n)
            cut = before + int(scores[before : after + 1].argmax())
            placed[n] = cut, cut
        ranges[n] = low + placed[n][0], low + placed[n][1]


def _best(span: Span, evidence: Evidence, owners: ndarray, bounds: tuple[int, int]) -> tuple[float, tuple[int, int]]:
    """The greatest F1 of a range of free atoms within bounds, and the shortest such range; empty if none is free."""
    low, high = bounds
    has_links = evidence.weights[low:high, span.start : span.end].any()
    weights = evidence.weights if has_links else evidence.weights + evidence.diagonal
    inside = weights[:, span.start : span.end].sum(axis=1)
    hits, every, taken = (_sums(v[low:high]) for v in (inside, weights.sum(axis=1), owners > 0))
    lengths = np.arange(high - low + 1)[None] - np.arange(high - low + 1)[:, None]
    scores = 2 * (hits[None] - hits[:, None]) / (every[None] - every[:, None] + inside.sum() + 1e-12) - 1e-9 * lengths
    scores = np.where((lengths > 0) & (taken[None] == taken[:, None]), scores, 0)
    start, end = np.unravel_index(scores.argmax(), scores.shape)
    return float(scores[start, end]), (low + int(start), low + int(end))


def _sums(values: ndarray) -> ndarray:
    """The sums of the first 0, 1, 2, … values."""
    return np.concatenate([[0], np.cumsum(values)])
