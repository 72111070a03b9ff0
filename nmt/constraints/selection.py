"""Beam search with constraints: dynamic beam allocation (Post and Vilar 2018, section 3).

Candidates are each hypothesis' best next tokens, and the next tokens of constraints. The beam is divided among banks:
hypotheses that have as many tokens of constraints compete with each other alone. A hypothesis ends only once all
constraints are met. Before the last step at which what is left still fits, nothing else is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.constraints.progress import Forms, Ids, State
from nmt.decoding.beam_search import best_candidates

BLOCKED = -100.0  # nats behind the best token: that of a constraint which `block_repeats` rules out
PER_HYPOTHESIS = 3  # candidates besides those of constraints


class Selection:
    """Chooses the candidates of beam search (`Choose`), so that each sentence meets its constraints.

    `constraints[i]` are those of sentence i; sentences without any get `best_candidates`. The ids `inside` go on with
    the word before them; those in `reserved` are written where they are the next id of a constraint, and nowhere else.
    """

    def __init__(
        self,
        constraints: Sequence[Sequence[Forms]],
        *,
        eos: int,
        max_length: int,
        inside: Collection[int] = (),
        reserved: Collection[int] = (),
    ) -> None:
        self.first = [State.first(forms, inside) for forms in constraints]
        self.eos, self.max_length, self.reserved = eos, max_length, sorted(reserved)
        self.states: list[dict[Ids, State]] = [{} for _ in constraints]

    def __call__(
        self, totals: Float[Tensor, "B K V"], count: int, ids: Int[Tensor, "B K L"], indices: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
        numbers = indices.tolist()
        rows = [row for row, number in enumerate(numbers) if self.first[number].open]
        if self.reserved and not rows:
            totals[:, :, self.reserved] = -torch.inf
        if not rows:
            return best_candidates(totals, count)
        few = torch.tensor(rows, device=totals.device)
        written = ids[few].tolist()
        states = [
            [self._state(numbers[row], tuple(hypothesis)) for hypothesis in hypotheses]
            for row, hypotheses in zip(rows, written, strict=True)
        ]
        forced = [
            (row, k, token)
            for row, row_states in zip(rows, states, strict=True)
            for k, state in enumerate(row_states)
            for token in state.next_ids
        ]
        at = torch.tensor(forced, dtype=torch.long, device=totals.device).view(-1, 3).unbind(1)
        scores = totals[at]
        if self.reserved:
            totals[:, :, self.reserved] = -torch.inf
            totals[at] = scores
        best = best_candidates(totals, count)
        values, tokens = _likely(totals[few], count)
        candidates = [
            {
                (k, token): score
                for k, pairs in enumerate(zip(v, t, strict=True))
                for score, token in zip(*pairs, strict=True)
            }
            for v, t in zip(values.tolist(), tokens.tolist(), strict=True)
        ]
        place = {row: n for n, row in enumerate(rows)}
        for (row, k, token), score in zip(forced, scores.tolist(), strict=True):
            n = place[row]
            top, second = values[n, k, :2].tolist()
            if second > -torch.inf:  # or a prefix is forced
                candidates[n][k, token] = max(score, top + BLOCKED)
        columns = [
            self._choose(numbers[row], written[n], states[n], candidates[n], best[0].shape[1], count // 2)
            for n, row in enumerate(rows)
        ]
        for tensor, lists in zip(best, zip(*columns, strict=True), strict=True):
            tensor[few] = torch.tensor(lists, dtype=tensor.dtype, device=tensor.device)
        return best

    def _state(self, number: int, ids: Ids) -> State:
        state = self.states[number].get(ids)
        return state if state is not None else reduce(State.after, ids[1:], self.first[number])

    def _choose(
        self,
        number: int,
        written: Sequence[Sequence[int]],
        states: Sequence[State],
        candidates: dict[tuple[int, int], float],
        width: int,
        beam_size: int,
    ) -> tuple[list[float], list[int], list[int]]:
        """A sentence's candidates: those that end, those that go on, and −∞ up to `width`."""
        room = self.max_length - len(written[0])
        options = []  # score, parent, token, state
        for (k, token), score in candidates.items():
            if score == -torch.inf or (token == self.eos and states[k].left):
                continue
            options.append((score, k, token, states[k] if token == self.eos else states[k].after(token)))
        fitting = [option for option in options if option[3].need <= room or option[2] == self.eos]
        options = sorted(fitting or options, key=lambda option: -option[0])
        banks: dict[int, list[tuple[float, int, int, State]]] = {}
        for option in options:
            banks.setdefault(0 if option[2] == self.eos else option[3].need, []).append(option)
        slots = allocate({need: len(bank) for need, bank in banks.items()}, beam_size)
        first = [option for need in sorted(banks) for option in banks[need][: slots[need]]]
        rest = [option for need in sorted(banks) for option in banks[need][slots[need] :]]
        going_on = [option for option in first + rest if option[2] != self.eos]
        self.states[number] = {(*written[k], token): state for _, k, token, state in going_on[:beam_size]}
        chosen = ([option for option in first if option[2] == self.eos] + going_on)[:width]
        padding = width - len(chosen)
        return (
            [option[0] for option in chosen] + [-torch.inf] * padding,
            [option[1] for option in chosen] + [0] * padding,
            [option[2] for option in chosen] + [0] * padding,
        )


def allocate(sizes: dict[int, int], beam_size: int) -> dict[int, int]:
    """How many hypotheses of each bank, by what they still need, stay in the beam.

    As many of each, the rest of those with the least need; what a bank has not goes to those with the next less need.
    """
    order = sorted(sizes)
    slots = {need: min(sizes[need], beam_size // len(order)) for need in order}
    for need in order:
        slots[need] += min(sizes[need] - slots[need], beam_size - sum(slots.values()))
    return slots


def _likely(totals: Float[Tensor, "B K V"], count: int) -> tuple[Float[Tensor, "B K X"], Int[Tensor, "B K X"]]:
    """The best scores of each hypothesis, and their tokens.

    The tokens are those that come closest to the best one of any hypothesis: they hold the best one of each.
    """
    peaks = totals.amax(dim=2, keepdim=True)
    peaks = peaks.masked_fill(peaks == -torch.inf, 0.0)
    tokens = (totals - peaks).amax(dim=1).topk(min(count, totals.shape[2]), dim=1).indices
    few = totals.gather(2, tokens.unsqueeze(1).expand(-1, totals.shape[1], -1))
    values, index = few.topk(min(PER_HYPOTHESIS, few.shape[2]), dim=2)
    return values, tokens.unsqueeze(1).expand(-1, totals.shape[1], -1).gather(2, index)
