"""Greedy and beam search over a step closure. Search knows no model: it sees rows of scores, and states to reorder.

Shapes: B unfinished sentences, K beam, N = B·K rows (a sentence's hypotheses are adjacent), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Tensors = TypeVar("Tensors", bound=tuple[Any, ...])
Step = Callable[[Int[Tensor, " N"], Any, Any], tuple[Float[Tensor, "N V"], Any]]


@dataclass(frozen=True)
class Hypothesis:
    """Target ids, with EOS if it was reached, and the log-probability (in nats) divided by the length penalty."""

    ids: tuple[int, ...]
    score: float


class Candidates(NamedTuple):
    """What a search chooses from at one step: the C best continuations of each sentence, best first.

    Those of −∞ only fill up the C. Of the K first ones, those that are EOS end; `going_on` are the indices of the K
    that the next step continues; all others are cut. Parents are counted among those of the step before.
    """

    sentence: Int[Tensor, " B"]  # its index in the input
    scores: Float[Tensor, "B C"]  # log-probabilities in nats, of all ids so far
    parents: Int[Tensor, "B C"]
    tokens: Int[Tensor, "B C"]
    going_on: Int[Tensor, "B K"]


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α, by which a log-probability is divided; EOS counts (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** alpha


def select(tensors: Tensors, rows: Int[Tensor, " R"]) -> Tensors:
    """The given rows of each batch-first tensor in a (named) tuple, or in nested tuples. None stays None."""

    def of(item: Any) -> Any:
        if item is None:
            return None
        return select(item, rows) if isinstance(item, tuple) else item.index_select(0, rows)

    items = map(of, tensors)
    return type(tensors)(*items) if hasattr(tensors, "_fields") else type(tensors)(items)


def beam_search(
    step: Step,
    state: tuple[Any, ...],
    memory: tuple[Any, ...],
    *,
    bos: int,
    eos: int,
    beam_size: int,
    alpha: float,
    max_length: int,
    n_best: int = 1,
    watch: Callable[[Candidates], None] | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yields each sentence's index and its `n_best` hypotheses, best first, as soon as they are known.

    `step(last ids of N rows, state, memory)` returns the log-probabilities of each row's next id, to be overwritten,
    and the new state. `state` and `memory` start with a row per sentence; then `state` has one for each of K
    hypotheses, reordered with them, and `memory` loses those of finished sentences. A hypothesis ends when EOS is among
    the K best continuations of its sentence, a sentence when K of them have ended, or at `max_length`, where unfinished
    ones compete as they are. K = 1 is greedy search. `watch` sees what each step chooses from. Raises `ValueError` if
    `n_best` > `beam_size`.
    """
    if n_best > beam_size:
        raise ValueError(f"n_best ({n_best}) exceeds beam_size ({beam_size})")
    sentences, device = _count_and_device(memory)
    numbers = torch.arange(sentences, device=device)  # the unfinished sentences, by their index in the input
    ids, scores = torch.full((sentences, 1, 1), bos, device=device), torch.zeros(sentences, 1, device=device)
    ended: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    for length in range(1, max_length + 1):
        log_probabilities, state = step(ids[:, :, -1].flatten(), state, memory)
        totals = log_probabilities.unflatten(0, scores.shape).add_(scores.unsqueeze(2))
        best, parents, tokens = _best_candidates(totals, 2 * beam_size)  # K may end, and K others are to continue
        at = ((tokens == eos) & (best > -torch.inf))[:, :beam_size].nonzero(as_tuple=True)
        _add(ended, numbers[at[0]], _written(ids, parents, tokens, at), best[at] / length_penalty(length, alpha))
        going_on = _going_on(tokens == eos)[:, : min(beam_size, totals[0, :, 1:].numel())]
        if watch:
            watch(Candidates(numbers, best, parents, tokens, going_on))
        scores, parents, tokens = (x.gather(1, going_on) for x in (best, parents, tokens))
        ids = torch.cat([ids.gather(1, parents.unsqueeze(2).expand(-1, -1, length)), tokens.unsqueeze(2)], dim=2)
        done = torch.tensor([len(ended[number]) >= beam_size for number in numbers.tolist()], device=device)
        yield from _ranked(ended, numbers[done], n_best)
        keep = (~done).nonzero().squeeze(1)
        if len(keep) == 0:
            return
        state = select(state, _rows(parents, totals.shape[1])[keep].flatten())
        if len(keep) < len(numbers):
            memory, numbers, ids, scores = select(memory, keep), numbers[keep], ids[keep], scores[keep]
    at = (scores > -torch.inf).nonzero(as_tuple=True)
    _add(ended, numbers[at[0]], ids[at], scores[at] / length_penalty(max_length, alpha))
    yield from _ranked(ended, numbers, n_best)


def with_forced_prefix(step: Step, no_token: int) -> Step:
    """The step of a search whose hypotheses begin with given ids, whatever their log-probability.

    Its memory is the step's own and the prefix of each sentence (B P), padded with `no_token`; its state is the step's
    own and the number of steps taken (N). Other ids than the prefix's get −∞.
    """

    def forced(tokens: Int[Tensor, " N"], state: Any, memory: Any) -> tuple[Float[Tensor, "N V"], Any]:
        (state, steps), (memory, prefix) = state, memory
        log_probabilities, state = step(tokens, state, memory)
        t = int(steps[0])
        if t < prefix.shape[1]:
            token = prefix[:, t].repeat_interleave(len(tokens) // len(prefix)).unsqueeze(1)
            others = torch.ones_like(log_probabilities, dtype=torch.bool).scatter_(1, token, False)
            log_probabilities.masked_fill_(others & (token != no_token), -torch.inf)
        return log_probabilities, (state, steps + 1)

    return forced


def _rows(parents: Int[Tensor, "B K"], width: int) -> Int[Tensor, "B K"]:
    """The rows of a step, `width` for each sentence, of hypotheses that are counted from each sentence's first."""
    return width * torch.arange(len(parents), device=parents.device).unsqueeze(1) + parents


def _written(
    ids: Int[Tensor, "B K T"], parents: Int[Tensor, "B C"], tokens: Int[Tensor, "B C"], at: tuple[Tensor, ...]
) -> Int[Tensor, "X L"]:
    """The ids of the candidates of sentence at[0] and place at[1]; BOS first."""
    return torch.cat([ids[at[0], parents[at]], tokens[at].unsqueeze(1)], dim=1)


def _add(
    ended: list[list[Hypothesis]], sentences: Int[Tensor, " X"], ids: Int[Tensor, "X L"], scores: Float[Tensor, " X"]
) -> None:
    """Add hypotheses, whose ids begin with BOS, to those of their sentences."""
    for sentence, own, score in zip(sentences.tolist(), ids.tolist(), scores.tolist(), strict=True):
        ended[sentence].append(Hypothesis(tuple(own[1:]), score))


def _ranked(
    ended: list[list[Hypothesis]], sentences: Int[Tensor, " X"], n_best: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    for sentence in sentences.tolist():
        yield sentence, sorted(ended[sentence], key=lambda hypothesis: -hypothesis.score)[:n_best]


def _best_candidates(
    totals: Float[Tensor, "B K V"], count: int
) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
    """The scores of each sentence's `count` best candidates (or all), best first, their parents, and their types.

    C candidates have at most C types, which are among the C types with the best score in any row. So two searches
    through few numbers replace a slow one through K·V.
    """
    types = totals.amax(dim=1).topk(min(count, totals.shape[2]), dim=1, sorted=False).indices
    few = totals.gather(2, types.unsqueeze(1).expand(-1, totals.shape[1], -1)).flatten(1)
    best, place = few.topk(min(count, few.shape[1]), dim=1)
    width = types.shape[1]
    return best, place // width, types.gather(1, place % width)


def _going_on(ends: Bool[Tensor, "B C"]) -> Int[Tensor, "B C"]:
    """The candidates' indices: those that do not end, best first, then those that end, one per parent."""
    return ends.to(torch.uint8).sort(dim=1, stable=True).indices


def _count_and_device(tensors: tuple[Any, ...]) -> tuple[int, torch.device]:
    first = tensors[0]
    return _count_and_device(first) if isinstance(first, tuple) else (len(first), first.device)
