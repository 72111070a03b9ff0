"""Greedy and beam search over a step closure. Search knows no model: it sees rows of scores, and states to reorder.

Shapes: B unfinished sentences, K beam, N = B·K rows (a sentence's hypotheses are adjacent), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)  # with which the ids were written


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
        return select(item, rows) if isinstance(item, tuple) else item if item is None else item.index_select(0, rows)

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
    prefix: Int[Tensor, "B P"] | None = None,
    watch: Callable[[Candidates], None] | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yields each sentence's index and its `n_best` hypotheses, best first, as soon as they are known.

    `step(last ids of N rows, state, memory)` returns the log-probabilities of each row's next id, to be overwritten,
    and the new state. `state` and `memory` start with a row per sentence; then `state` has one for each of K
    hypotheses, reordered with them, and `memory` loses those of finished sentences. A hypothesis ends when EOS is among
    the K best continuations of its sentence, a sentence when K of them have ended, or at `max_length`, where unfinished
    ones compete as they are. K = 1 is greedy search. Hypotheses begin with the ids in `prefix`, as `force` has them.
    `watch` is called with what each step chooses from. Raises `ValueError` if `n_best` > `beam_size`.
    """
    if n_best > beam_size:
        raise ValueError(f"n_best ({n_best}) exceeds beam_size ({beam_size})")
    sentences, device = _count_and_device(memory)
    numbers = torch.arange(sentences, device=device)  # the unfinished sentences, by their index in the input
    ids, scores = torch.full((sentences, 1, 1), bos, device=device), torch.zeros(sentences, 1, device=device)
    ended: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    for length in range(1, max_length + 1):
        log_probabilities, state = step(ids[:, :, -1].flatten(), state, memory)
        totals = force(log_probabilities.unflatten(0, scores.shape), prefix, numbers, length - 1)
        totals = totals.add_(scores.unsqueeze(2))
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
        rows = totals.shape[1] * torch.arange(len(parents), device=device).unsqueeze(1) + parents
        state = select(state, rows[keep].flatten())
        if len(keep) < len(numbers):
            memory, numbers, ids, scores = select(memory, keep), numbers[keep], ids[keep], scores[keep]
    at = (scores > -torch.inf).nonzero(as_tuple=True)
    _add(ended, numbers[at[0]], ids[at], scores[at] / length_penalty(max_length, alpha))
    yield from _ranked(ended, numbers, n_best)


def force(
    log_probabilities: Float[Tensor, "B K V"], prefix: Int[Tensor, "X P"] | None, sentences: Int[Tensor, " B"], t: int
) -> Float[Tensor, "B K V"]:
    """−∞, in place, for all but the t-th token of each sentence's prefix; where that is −1, no token is fixed."""
    if prefix is None or t >= prefix.shape[1]:
        return log_probabilities
    token = prefix[sentences, t].view(-1, 1, 1)
    is_another = torch.arange(log_probabilities.shape[2], device=token.device) != token
    return log_probabilities.masked_fill_(is_another & (token >= 0), -torch.inf)


def _written(
    ids: Int[Tensor, "B K T"], parents: Int[Tensor, "B C"], tokens: Int[Tensor, "B C"], at: tuple[Tensor, ...]
) -> Int[Tensor, "X L"]:
    """The ids of the candidates of sentence at[0] and index at[1]; BOS first."""
    return torch.cat([ids[at[0], parents[at]], tokens[at].unsqueeze(1)], dim=1)


def _add(
    ended: list[list[Hypothesis]], sentences: Int[Tensor, " X"], ids: Int[Tensor, "X L"], scores: Float[Tensor, " X"]
) -> None:
    """Add hypotheses, whose ids begin with BOS, to those of their sentences."""
    for sentence, (_, *tokens), score in zip(sentences.tolist(), ids.tolist(), scores.tolist(), strict=True):
        ended[sentence].append(Hypothesis(tuple(tokens), score))


def _ranked(
    ended: list[list[Hypothesis]], sentences: Int[Tensor, " X"], n_best: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    for sentence in sentences.tolist():
        yield sentence, sorted(ended[sentence], key=lambda hypothesis: -hypothesis.score)[:n_best]


def _best_candidates(
    totals: Float[Tensor, "B K V"], count: int
) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
    """The scores of each sentence's `count` best candidates (or all), best first, their parents, and their tokens.

    C candidates have at most C tokens, which are among the C tokens with the best score in any row. So two searches
    through few values replace a slow one through K·V.
    """
    tokens = totals.amax(dim=1).topk(min(count, totals.shape[2]), dim=1, sorted=False).indices
    few = totals.gather(2, tokens.unsqueeze(1).expand(-1, totals.shape[1], -1)).flatten(1)
    best, index = few.topk(min(count, few.shape[1]), dim=1)
    return best, index // tokens.shape[1], tokens.gather(1, index % tokens.shape[1])


def _going_on(ends: Bool[Tensor, "B C"]) -> Int[Tensor, "B C"]:
    """The candidates' indices: those that do not end, best first, then those that end, one per parent."""
    return ends.to(torch.uint8).sort(dim=1, stable=True).indices


def _count_and_device(tensors: tuple[Any, ...]) -> tuple[int, torch.device]:
    first = tensors[0]
    return _count_and_device(first) if isinstance(first, tuple) else (len(first), first.device)
