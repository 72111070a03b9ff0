"""Greedy and beam search over a step closure. Search knows no model: it sees rows of scores, and states to reorder.

Shapes: B unfinished sentences, K beam, N = B·K rows (a sentence's hypotheses are adjacent), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Tensors = TypeVar("Tensors", bound=tuple[Any, ...])
LONGEST_LOOP = 6  # tokens
Step = Callable[[Int[Tensor, " N"], Any, Any], tuple[Float[Tensor, "N V"], Any]]
# Changes, in place, the log-probabilities of the next ids, which follow the ids so far (BOS first).
Adjust = Callable[[Float[Tensor, "B K V"], Int[Tensor, "B K L"]], None]
# From the scores of all candidates, how many to choose, the ids so far (BOS first) and the sentences' indices:
# scores, parents and tokens of candidates. Of the first K, those of EOS end; the first others go on.
Choose = Callable[[Float[Tensor, "B K V"], int, Int[Tensor, "B K L"], Int[Tensor, " B"]], tuple[Tensor, Tensor, Tensor]]


@dataclass(frozen=True)
class Hypothesis:
    """Target ids, with EOS if it was reached, and the log-probability (in nats) divided by the length penalty."""

    ids: tuple[int, ...]
    score: float
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)  # with which the ids were written


class Candidates(NamedTuple):
    """What a search chooses from at one step: the C best continuations of each sentence, best first.

    Those of −∞ only fill up the C. Of the K first ones, those that are EOS end; the next step continues `going_on`; all
    others are cut. Parents are counted among those of the step before.
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

    items: Any = (
        x if x is None else select(x, rows) if isinstance(x, tuple) else x.index_select(0, rows) for x in tensors
    )
    return type(tensors)(*items) if hasattr(tensors, "_fields") else type(tensors)(items)


def best_candidates(
    totals: Float[Tensor, "B K V"], count: int, *_: Tensor
) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
    """The scores of each sentence's `count` best candidates (or all), best first, their parents, and their tokens.

    C candidates have at most C tokens, which are among the C tokens with the best score in any row. So two searches
    through few values replace a slow one through K·V.
    """
    tokens = totals.amax(dim=1).topk(min(count, totals.shape[2]), dim=1, sorted=False).indices
    few = totals.gather(2, tokens.unsqueeze(1).expand(-1, totals.shape[1], -1)).flatten(1)
    best, index = few.topk(min(count, few.shape[1]), dim=1)
    return best, index // tokens.shape[1], tokens.gather(1, index % tokens.shape[1])


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
    adjust: Sequence[Adjust] = (),
    watch: Callable[[Candidates], None] | None = None,
    choose: Choose = best_candidates,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yields each sentence's index and its `n_best` hypotheses, best first, as soon as they are known.

    `step(last ids of N rows, state, memory)` returns the log-probabilities of each row's next id, to be overwritten,
    and the new state. `state` and `memory` begin with a row per sentence; `state` then has K, reordered with the
    hypotheses. A hypothesis ends when EOS is among the K best continuations of its sentence, a sentence when K have
    ended, or at `max_length`, where all compete as they are. K = 1 is greedy search. Hypotheses begin with `prefix`;
    behind it `adjust` changes log-probabilities. `choose` selects candidates; `watch` gets them.
    """
    indices = _indices(memory)  # the unfinished sentences, by their index in the input
    ids, scores = indices.new_full((len(indices), 1, 1), bos), torch.zeros(len(indices), 1, device=indices.device)
    ended: list[list[Hypothesis]] = [[] for _ in indices]
    for length in range(1, max_length + 1):
        log_p, state = step(ids[:, :, -1].flatten(), state, memory)
        log_p = adjusted(log_p.unflatten(0, scores.shape), ids, indices, prefix, adjust)
        totals = log_p.add_(scores.unsqueeze(2))
        best, parents, tokens = choose(totals, 2 * beam_size, ids, indices)  # K may end, and K others are to continue
        written = torch.cat([ids.gather(1, parents.unsqueeze(2).expand(-1, -1, length)), tokens.unsqueeze(2)], dim=2)
        is_hypothesis = ((tokens == eos) & (best > -torch.inf))[:, :beam_size]
        _add(ended, indices, written, best / length_penalty(length, alpha), is_hypothesis)
        going_on = _going_on(tokens == eos)[:, : min(beam_size, best.shape[1] - totals.shape[1])]
        if watch:
            watch(Candidates(indices, best, parents, tokens, going_on))
        scores, parents = best.gather(1, going_on), parents.gather(1, going_on)
        ids = written.gather(1, going_on.unsqueeze(2).expand(-1, -1, length + 1))
        is_done = torch.tensor([len(ended[index]) >= beam_size for index in indices.tolist()], device=ids.device)
        yield from _ranked(ended, indices[is_done], n_best)
        if len(keep := (~is_done).nonzero().squeeze(1)) == 0:
            return
        rows = totals.shape[1] * torch.arange(len(parents), device=ids.device).unsqueeze(1) + parents
        state = select(state, rows[keep].flatten())
        if len(keep) < len(indices):
            memory, indices, ids, scores = select(memory, keep), indices[keep], ids[keep], scores[keep]
    _add(ended, indices, ids, scores / length_penalty(max_length, alpha), scores > -torch.inf)
    yield from _ranked(ended, indices, n_best)


def adjusted(
    log_probabilities: Float[Tensor, "B K V"],
    ids: Int[Tensor, "B K L"],
    indices: Int[Tensor, " B"],
    prefix: Int[Tensor, "X P"] | None,
    adjust: Sequence[Adjust],
) -> Float[Tensor, "B K V"]:
    """−∞ for all but the next id of a sentence's prefix, or else what `adjust` makes of them. May change its input.

    Where a prefix is −1, it fixes no id.
    """
    t, free = ids.shape[2] - 1, log_probabilities
    has_prefix = prefix is not None and t < prefix.shape[1]
    if has_prefix:
        free = log_probabilities.clone()
    for change in adjust:
        change(free, ids)
    if prefix is None or not has_prefix:
        return free
    token = prefix[indices, t].view(-1, 1, 1)
    is_another = torch.arange(free.shape[2], device=token.device) != token
    return free.where(token < 0, log_probabilities.masked_fill(is_another, -torch.inf))


def block_repeats(
    not_thrice: Bool[Tensor, " V"], log_probabilities: Float[Tensor, "B K V"], ids: Int[Tensor, "B K L"]
) -> None:
    """−∞, in place, for each token of the mask that would end the third of three equal sequences in a row."""
    recent = ids[:, :, -LONGEST_LOOP - 1 :]
    if not (recent[:, :, :-1] == recent[:, :, -1:]).any():  # which is most often so, and what ends a loop soonest
        return
    for n in range(1, min(LONGEST_LOOP, (ids.shape[2] + 1) // 3) + 1):
        token = ids[:, :, -n]
        is_third = (ids[:, :, 1 - 2 * n :] == ids[:, :, 1 - 3 * n : -n]).all(dim=2) & not_thrice[token]
        if is_third.any():
            at = is_third.nonzero(as_tuple=True)
            log_probabilities[(*at, token[at])] = -torch.inf


def _add(
    ended: list[list[Hypothesis]],
    sentences: Int[Tensor, " B"],
    ids: Int[Tensor, "B C L"],
    scores: Float[Tensor, "B C"],
    mask: Bool[Tensor, "B X"],
) -> None:
    """Add the hypotheses that a mask selects, whose ids begin with BOS, to those of their sentences."""
    at = mask.nonzero(as_tuple=True)
    columns = (x.tolist() for x in (sentences[at[0]], ids[at], scores[at]))
    for sentence, (_, *tokens), score in zip(*columns, strict=True):
        ended[sentence].append(Hypothesis(tuple(tokens), score))


def _ranked(
    ended: list[list[Hypothesis]], sentences: Int[Tensor, " X"], n_best: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    for sentence in sentences.tolist():
        yield sentence, sorted(ended[sentence], key=lambda hypothesis: -hypothesis.score)[:n_best]


def _going_on(ends: Bool[Tensor, "B C"]) -> Int[Tensor, "B C"]:
    """The candidates' indices: those that do not end, best first, then those that end, one per parent."""
    return ends.to(torch.uint8).sort(dim=1, stable=True).indices


def _indices(tensors: tuple[Any, ...]) -> Int[Tensor, " B"]:
    """Those of the rows of batch-first tensors in nested tuples."""
    first = tensors[0]
    return _indices(first) if isinstance(first, tuple) else torch.arange(len(first), device=first.device)
