"""Word alignment of a parallel text, learnt from the text alone.

Two HMM alignment models, one of each direction, start as IBM model 1 (Brown et al. 1993), which is the HMM with equal
jumps. Their most probable alignments are symmetrised (Och and Ney 2003, sections 2 and 4).

Shapes: P pairs, L links, M meetings (of each target token with each source token of its pair), C distinct meetings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from nmt.align import hmm
from nmt.align.symmetrization import Symmetrization, symmetrize
from nmt.data.store import Rows
from nmt.decoding.word_alignment import Link
from nmt.text.tokenizers import SPACE_MARK
from nmt.text.tokenizers.case import MARKS

MEETINGS = 10_000_000  # that are learnt from, at most: each takes 50 bytes
LONGEST = 1000  # tokens; a longer sentence gets no links
MODEL_1, HMM = 5, 4  # iterations
CONCENTRATION = 0.01  # of the Dirichlet prior of p(t | s)
BATCH = 500_000  # points of an alignment matrix at a time
JUMP_FLOOR = 1e-5  # of the share of a jump that was never seen
TINY = 1e-12


def lexical_links(
    source: Rows,
    target: Rows,
    *,
    tokens: tuple[Sequence[str], Sequence[str]] | None = None,
    symmetrization: Symmetrization = "grow-diag-final-and",
) -> Rows:
    """The links of every pair of ids, learnt from these pairs alone; of a long text, from pairs that are evenly spaced.

    A link is a row of `values`: its source and its target position. Those of a pair are sorted by target position.
    `tokens` are the text of the source's and the target's ids: with them, words and punctuation are not linked to each
    other, and marks of case and space to nothing. Sentences of more than `LONGEST` tokens get no links. Raises
    `ValueError` for sides of different length.
    """
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source and {len(target)} target sentences")
    kinds = tuple(np.array([_kind(token) for token in side], dtype=int) for side in tokens) if tokens else None
    (source, source_places), (target, target_places) = (
        _without_marks(rows, kinds[side] if kinds else None) for side, rows in enumerate((source, target))
    )
    links: list[list[Link]] = [[] for _ in range(len(source))]
    for pair, of_pair in _pair_links(source, target, kinds, symmetrization):
        links[pair] = sorted(of_pair, key=lambda link: link[::-1])
    counts = np.array([len(of_pair) for of_pair in links], dtype=np.int32)
    flat = np.array([link for of_pair in links for link in of_pair], dtype=np.int32).reshape(-1, 2)
    begins = (np.repeat(rows.ends - rows.lengths, counts) for rows in (source, target))
    positions = [p[b + x] for p, b, x in zip((source_places, target_places), begins, flat.T, strict=True)]
    return Rows(np.stack(positions, axis=1), counts)


Kinds = tuple[Int[np.ndarray, " V"], ...] | None  # of the tokens of each side, by id: see `_kind`


def _kind(token: str) -> int:
    """1 for a word or a part of one, −1 for punctuation, 0 for a mark."""
    letters = "" if token in MARKS else token.replace(SPACE_MARK, "")
    return 1 if any(map(str.isalnum, letters)) else -1 if letters else 0


def _without_marks(rows: Rows, kinds: Int[np.ndarray, " V"] | None) -> tuple[Rows, Int[np.ndarray, " N"]]:
    """The tokens that are no marks, and their positions in their sentences."""
    positions = np.arange(len(rows.values), dtype=np.int32) - np.repeat(rows.ends - rows.lengths, rows.lengths)
    kept = np.ones(len(positions), dtype=bool) if kinds is None else kinds[rows.values] != 0
    before = np.concatenate([[0], kept.cumsum()])
    lengths = before[rows.ends] - before[rows.ends - rows.lengths]
    return Rows(rows.values[kept], lengths.astype(np.int32)), positions[kept].astype(np.int32)


def _pair_links(
    source: Rows, target: Rows, kinds: Kinds, symmetrization: Symmetrization
) -> Iterator[tuple[int, frozenset[Link]]]:
    """The links of each pair that can have some, pairs in any order."""
    meetings = source.lengths.astype(np.int64) * target.lengths
    pairs = np.flatnonzero((meetings > 0) & (np.maximum(source.lengths, target.lengths) <= LONGEST))
    if not len(pairs):
        return
    step = max(1, -(-int(meetings[pairs].sum()) // MEETINGS))
    text = _read(source, target, pairs[::step])
    longest = int(max(source.lengths[pairs].max(), target.lengths[pairs].max()))
    models = _learnt(text, longest, _fits(text.couples, kinds))
    for start in range(step):
        block = text if step == 1 else _read(source, target, pairs[start::step], text.couples)
        paths = zip(*(_best_links(block, model) for model in models), strict=True)
        for pair, (forward, backward) in zip(block.pairs.tolist(), paths, strict=True):
            yield pair, symmetrize(forward, backward, symmetrization)


class _Couples(NamedTuple):
    """Distinct meetings, by source id and target id."""

    source: Int[np.ndarray, " C"]
    target: Int[np.ndarray, " C"]
    sizes: tuple[int, int]  # of the vocabularies


class _Text(NamedTuple):
    """Pairs, and of each meeting which couple it is: by pair, then target position, then source position."""

    source: Rows
    target: Rows
    pairs: Int[np.ndarray, " P"]
    begins: Int[np.ndarray, " P"]
    couple: Int[np.ndarray, " M"]  # C for one that is not among the couples
    couples: _Couples

    def sides(self, is_reverse: bool) -> tuple[Rows, Rows]:
        """The side that a direction reads, and the one that it generates."""
        return (self.target, self.source) if is_reverse else (self.source, self.target)


@dataclass
class _Model:
    """The parameters of one direction."""

    is_reverse: bool
    probability: Float[np.ndarray, " C+1"]  # p(t | s), and that of a couple that was never seen
    null: Float[np.ndarray, " V"]  # p(t | the empty word)
    jumps: Float[np.ndarray, " 2N"]


class _Batch(NamedTuple):
    """Pairs whose read sides are equally long; arrays have the generated positions first."""

    rows: Int[np.ndarray, " B"]
    lengths: Int[np.ndarray, " B"]
    is_inside: Bool[np.ndarray, "J B"]
    meeting: Int[np.ndarray, "J B I"]
    ids: Int[np.ndarray, "J B"]


def _read(source: Rows, target: Rows, pairs: Int[np.ndarray, " P"], couples: _Couples | None = None) -> _Text:
    """The meetings of some pairs; couples are theirs, if they are not those of another text."""
    sizes = int(source.values.max()) + 1, int(target.values.max()) + 1
    source, target = (_rows(side, pairs) for side in (source, target))
    meetings = source.lengths.astype(np.int64) * target.lengths
    choices = np.repeat(source.lengths, target.lengths)  # of each target token
    firsts = np.repeat(source.ends - source.lengths, target.lengths)
    positions = np.arange(meetings.sum()) - np.repeat(np.cumsum(choices, dtype=np.int64) - choices - firsts, choices)
    keys = source.values.astype(np.int64)[positions] * sizes[1] + np.repeat(target.values.astype(np.int64), choices)
    if couples is None:
        distinct, couple = np.unique(keys, return_inverse=True)
        couples = _Couples(*np.divmod(distinct, sizes[1]), sizes)
    else:
        distinct = couples.source * sizes[1] + couples.target
        couple = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
        couple[distinct[couple] != keys] = len(distinct)
    return _Text(source, target, pairs, meetings.cumsum() - meetings, couple.astype(np.int32), couples)


def _rows(side: Rows, selected: Int[np.ndarray, " P"]) -> Rows:
    lengths = side.lengths[selected]
    begins = np.repeat((side.ends - side.lengths)[selected] - (lengths.cumsum(dtype=np.int64) - lengths), lengths)
    return Rows(side.values[np.arange(len(begins)) + begins], lengths)


def _fits(couples: _Couples, kinds: Kinds) -> Bool[np.ndarray, " C"]:
    """Whether a couple may be linked: all but a word with punctuation."""
    if kinds is None:
        return np.ones(len(couples.source), dtype=bool)
    return kinds[0][couples.source] == kinds[1][couples.target]


def _learnt(text: _Text, longest: int, fits: Bool[np.ndarray, " C"]) -> list[_Model]:
    start = np.append(np.where(fits, 1, TINY), TINY)
    models = [_Model(r, start, np.ones(text.couples.sizes[not r]), np.ones(2 * longest)) for r in (False, True)]
    for iteration in range(MODEL_1 + HMM):
        for model in models:
            _update(model, text, fits, with_jumps=iteration >= MODEL_1)
    return models


def _update(model: _Model, text: _Text, fits: Bool[np.ndarray, " C"], with_jumps: bool) -> None:
    """An iteration of expectation maximisation; of p(t | s) by variational Bayes (Riley and Gildea 2012, section 3)."""
    share = np.zeros(len(text.couple), dtype=np.float32)
    null, jumps = np.zeros_like(model.null), np.full_like(model.jumps, TINY)
    for batch in _batches(text, model.is_reverse):
        moves = hmm.transitions(model.jumps, batch.meeting.shape[2])
        expected = hmm.posteriors(*_emissions(text, model, batch), moves, batch.lengths)
        share[batch.meeting[batch.is_inside]] = expected.points[batch.is_inside]
        null += np.bincount(batch.ids.ravel(), (expected.null * batch.is_inside).ravel(), minlength=len(null))
        index = hmm.jump_index(batch.meeting.shape[2], len(jumps))
        jumps += np.bincount(index.ravel(), expected.jumps.ravel(), minlength=len(jumps))
    counts = np.bincount(text.couple, share, minlength=len(fits)) + CONCENTRATION
    read_ids = text.couples[model.is_reverse]
    expected_log = (
        torch.from_numpy(counts).digamma() - torch.from_numpy(np.bincount(read_ids, counts)[read_ids]).digamma()
    )
    estimate = expected_log.exp().numpy()
    model.probability = np.append(np.maximum(np.where(fits, estimate, 0), TINY), TINY)
    model.null = np.maximum(null / max(null.sum(), TINY), TINY)
    if with_jumps:
        model.jumps = jumps / jumps.sum() + JUMP_FLOOR


def _batches(text: _Text, is_reverse: bool) -> Iterator[_Batch]:
    read, generated = text.sides(is_reverse)
    order = np.lexsort((generated.lengths, read.lengths))
    sizes, steps = read.lengths[order].tolist(), generated.lengths[order].tolist()
    start = 0
    for stop in range(1, len(order) + 1):
        size = sizes[start]
        is_full = stop < len(order) and (stop + 1 - start) * size * max(size, steps[stop]) > BATCH
        if stop == len(order) or is_full or sizes[stop] != size:
            yield _batch(text, is_reverse, order[start:stop])
            start = stop


def _batch(text: _Text, is_reverse: bool, rows: Int[np.ndarray, " B"]) -> _Batch:
    read, generated = text.sides(is_reverse)
    size, lengths = int(read.lengths[rows[0]]), generated.lengths[rows]
    step = np.arange(lengths.max())[:, None]
    position = np.minimum(step, lengths - 1)
    strides = (1, lengths[:, None]) if is_reverse else (size, 1)  # between generated, between read positions
    meeting = (text.begins[rows] + position * strides[0])[:, :, None] + np.arange(size) * strides[1]
    ids = generated.values[(generated.ends - generated.lengths)[rows] + position]
    return _Batch(rows, lengths, step < lengths, meeting, ids)


def _emissions(
    text: _Text, model: _Model, batch: _Batch
) -> tuple[Float[np.ndarray, "J B I"], Float[np.ndarray, "J B"]]:
    """p(token | each position) and p(token | the empty word); 1 after the end of a pair."""
    points, null = model.probability[text.couple[batch.meeting]], model.null[batch.ids]
    points[~batch.is_inside] = 1
    null[~batch.is_inside] = 1
    return points, null


def _best_links(text: _Text, model: _Model) -> list[frozenset[Link]]:
    """The links of each pair's most probable alignment."""
    result = [frozenset[Link]()] * len(text.pairs)
    for batch in _batches(text, model.is_reverse):
        moves = hmm.transitions(model.jumps, batch.meeting.shape[2])
        path = hmm.best_path(*_emissions(text, model, batch), moves, batch.lengths)
        for row, length, origins in zip(batch.rows, batch.lengths, path.T.tolist(), strict=True):
            links = ((origin, position) for position, origin in enumerate(origins[:length]) if origin >= 0)
            result[row] = frozenset((b, a) for a, b in links) if model.is_reverse else frozenset(links)
    return result
