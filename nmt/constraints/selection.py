"""Beam search with constraints: dynamic beam allocation (Post and Vilar 2018, section 3).

Candidates are each hypothesis' best next tokens, and the next tokens of constraints. The beam is divided among banks:
hypotheses that need as many more tokens of constraints compete with each other alone. A hypothesis ends only once all
constraints are met, and nothing else is written where the rest of `max_length` is just enough for them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.constraints.progress import Forms, Ids, Rules, State
from nmt.decoding.beam_search import best_candidates

BLOCKED = -100.0  # nats behind the best token: that of a constraint which `block_repeats` rules out
BONUS = 5.0  # nats for each token of a constraint, where the beam has no room for all banks
PER_HYPOTHESIS = 3  # candidates besides those of constraints


class Option(NamedTuple):
    """A candidate: its score, its parent's column, its token, and how far it has met its constraints."""

    score: float
    parent: int
    token: int
    state: State


class Selection:
    """Chooses the candidates of beam search (`Choose`), so that each sentence meets its constraints.

    `constraints[i]` are those of sentence i; sentences without any get `best_candidates`. For `inside` and `marks` see
    `Rules`. The ids in `reserved`, which are words, are written where they are the next id of a constraint, and nowhere
    else, and those of them in `ordered[i]` in the order of their constraints.
    """

    def __init__(
        self,
        constraints: Sequence[Sequence[Forms]],
        *,
        eos: int,
        max_length: int,
        inside: Collection[int] = (),
        marks: Collection[int] = (),
        reserved: Collection[int] = (),
        ordered: Sequence[Collection[int]] | None = None,
    ) -> None:
        self.first = [
            State.first(forms, Rules(inside, reserved, in_order, marks))
            for forms, in_order in zip(constraints, ordered or [()] * len(constraints), strict=True)
        ]
        self.inside, self.inside_or_reserved = inside, torch.tensor(sorted({*inside, *reserved}), dtype=torch.long)
        self.eos, self.max_length, self.reserved = eos, max_length, sorted(reserved)
        self.states: list[Mapping[Ids, State]] = [{} for _ in constraints]  # those of the current hypotheses

    def __call__(
        self, totals: Float[Tensor, "B K V"], count: int, ids: Int[Tensor, "B K L"], indices: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
        sentences = indices.tolist()
        rows = [row for row, sentence in enumerate(sentences) if self.first[sentence].constraints]
        few = torch.tensor(rows, dtype=torch.long, device=totals.device)
        written = ids[few].tolist()
        states = [
            [self._state(sentences[row], tuple(hypothesis)) for hypothesis in hypotheses]
            for row, hypotheses in zip(rows, written, strict=True)
        ]
        forced = [
            (n, k, token) for n, group in enumerate(states) for k, state in enumerate(group) for token in state.next_ids
        ]
        forced += self._word_ends(totals, few, states)
        n, k, token = torch.tensor(forced, dtype=torch.long, device=totals.device).view(-1, 3).unbind(1)
        scores = totals[few[n], k, token]
        if self.reserved:
            totals[:, :, self.reserved] = -torch.inf
            totals[few[n], k, token] = scores
        best = best_candidates(totals, count)
        if not rows:
            return best
        values, tokens = _likely(totals[few], count)
        candidates = _candidates(values.tolist(), tokens.tolist(), forced, scores.tolist())
        width, beam_size = best[0].shape[1], count // 2
        columns = []
        for row, group, of_row, hypotheses in zip(rows, states, candidates, written, strict=True):
            ending, going_on = self._select(group, of_row, self.max_length - len(hypotheses[0]), beam_size)
            self.states[sentences[row]] = {(*hypotheses[o.parent], o.token): o.state for o in going_on[:beam_size]}
            filler = [(-torch.inf, 0, 0)] * width
            columns.append(zip(*[*(option[:3] for option in ending + going_on), *filler][:width], strict=True))
        for tensor, lists in zip(best, zip(*columns, strict=True), strict=True):
            tensor[few] = torch.tensor(lists, dtype=tensor.dtype, device=tensor.device)
        return best

    def _word_ends(
        self, totals: Float[Tensor, "B K V"], rows: Int[Tensor, " R"], states: Sequence[Sequence[State]]
    ) -> list[tuple[int, int, int]]:
        """The best id that ends the word of each term just written: the likeliest ones may all go on with it."""
        ends = [(n, k) for n, group in enumerate(states) for k, state in enumerate(group) if state.last]
        if not (ends and self.inside):
            return []
        n, k = torch.tensor(ends, device=totals.device).unbind(1)
        word_ends = totals[rows[n], k].index_fill(1, self.inside_or_reserved.to(totals.device), -torch.inf)
        return [(*end, token) for end, token in zip(ends, word_ends.argmax(dim=1).tolist(), strict=True)]

    def _state(self, sentence: int, ids: Ids) -> State:
        state = self.states[sentence].get(ids)
        return state if state is not None else reduce(State.after, ids[1:], self.first[sentence])

    def _select(
        self, states: Sequence[State], candidates: Mapping[tuple[int, int], float], room: int, beam_size: int
    ) -> tuple[list[Option], list[Option]]:
        """A sentence's candidates: those that end, and those that go on, with `room` for more tokens behind them."""
        options = [
            Option(score, k, token, states[k] if token == self.eos else states[k].after(token))
            for (k, token), score in candidates.items()
            if score > -torch.inf and not (token == self.eos and states[k].open)
        ]
        options = [option for option in options if option.state.need <= room] or options
        banks: dict[int, list[Option]] = {}
        for option in sorted(options, key=lambda option: -option.score):
            banks.setdefault(option.state.need, []).append(option)
        slots = allocate({need: (len(bank), bank[0].score) for need, bank in banks.items()}, beam_size)
        kept = [option for need, count in slots.items() for option in banks[need][:count]]
        spare = [option for need, count in slots.items() for option in banks[need][count:]]
        going_on = [option for option in kept + spare if option.token != self.eos]
        return [option for option in kept if option.token == self.eos], going_on


def allocate(banks: Mapping[int, tuple[int, float]], beam_size: int) -> dict[int, int]:
    """How many hypotheses of each bank stay in the beam, by the number of tokens that they need, the least first.

    `banks` has the size and the best score of each. All have the same share; what is left, and what a bank does not
    fill, goes to those that need least. Of more banks than hypotheses, those stay that have the best score and
    `BONUS` for each token of a constraint.
    """
    best = sorted(banks, key=lambda need: BONUS * need - banks[need][1])[:beam_size]
    slots = {need: min(banks[need][0], beam_size // len(best)) for need in sorted(best)}
    for need in slots:
        slots[need] += min(banks[need][0] - slots[need], beam_size - sum(slots.values()))
    return slots


def _candidates(
    values: Sequence[Sequence[Sequence[float]]],
    tokens: Sequence[Sequence[Sequence[int]]],
    forced: Sequence[tuple[int, int, int]],
    scores: Sequence[float],
) -> list[dict[tuple[int, int], float]]:
    """The candidates of each sentence: their scores, by parent and token."""
    candidates = [
        {(k, token): score for k, row in enumerate(zip(v, t, strict=True)) for score, token in zip(*row, strict=True)}
        for v, t in zip(values, tokens, strict=True)
    ]
    for (n, k, token), score in zip(forced, scores, strict=True):
        best = values[n][k]
        if best[1] > -torch.inf:  # the next token is not that of a prefix
            candidates[n][k, token] = max(score, best[0] + BLOCKED)
    return candidates


def _likely(totals: Float[Tensor, "B K V"], count: int) -> tuple[Float[Tensor, "B K X"], Int[Tensor, "B K X"]]:
    """The best scores of each hypothesis, and their tokens.

    The tokens are those that come closest to the best one of any hypothesis: they hold the best one of each.
    """
    peaks = totals.amax(dim=2, keepdim=True)
    distances = totals - peaks.masked_fill(peaks == -torch.inf, 0.0)
    tokens = distances.amax(dim=1).topk(min(count, totals.shape[2]), dim=1).indices
    tokens = tokens.unsqueeze(1).expand(-1, totals.shape[1], -1)
    values, index = totals.gather(2, tokens).topk(min(PER_HYPOTHESIS, tokens.shape[2]), dim=2)
    return values, tokens.gather(2, index)
