"""Monotonic attention, with chunks or without.

Shapes: B sentences, T queries of each (1 in training, the beam in search), S source positions.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.attention import Alignment, Attended, Attention, Memory
from nmt.model.scopes import GlobalScope, Scope, Steps
from nmt.model.scores import Queries, Score, Scores
from nmt.variants.linear import scan


def make(config: Any, score: Score, scope: Scope, of_chunks: Score | None) -> MonotonicAttention:
    """The attention of a section `model.attention`; `of_chunks` is the second score, if it has chunks."""
    scope = scope if of_chunks is None else ChunkScope(of_chunks)
    return MonotonicAttention(score, scope, key_value=config.key_value, **dict(config.monotonic))


class MonotonicAlignment(Alignment):
    """The weights of a step. The decoder's state keeps its stops, in the place of the sum of all weights so far."""

    stops: Float[Tensor, "*B S"]

    def added_to(self, total: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
        return self.stops

    def dense(self, length: int) -> Float[Tensor, "*B S"]:
        return self.weights


class ChunkScope(GlobalScope):
    """All positions, with the keys of a second score."""

    def __init__(self, score: Score) -> None:
        super().__init__(query_size=0)  # which it has no use for
        self.score = score

    def prepare(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], scored: Float[Tensor, "*B S M"]
    ) -> tuple[Tensor, ...]:
        return (self.score.keys(scored),)


class MonotonicAttention(Attention):
    """Attention that stops at one position, at that of the last step or behind it (Raffel et al. 2017, section 2).

    p_s = sigmoid(e_s + r) is the probability to stop at a position that is reached, for a score e and a learnt r.
    In training the weights are the probabilities of the stops (equations 11 to 14; the bias: section 2.4, noise: 2.5).
    Otherwise attention stops at the first position with p_s ≥ ½ (algorithm 1); if there is none the context is 0, from
    then on. Each step of search scores all positions in one product, so search does not take the linear time of the
    paper. With chunks of w positions the context is a softmax of a second score over the last w positions up to the
    stop, in training its mean over all stops (Chiu and Raffel 2018, sections 2.3 and 2.4).

    The state of the decoder keeps the last step's stops as its coverage, which the scores here do not read.
    """

    def __init__(
        self, score: Score, scope: Scope, *, key_value: bool, chunk: int = 1, noise: float = 1.0, bias: float = -1.0
    ) -> None:
        super().__init__(score, scope, key_value=key_value)
        self.bias = nn.Parameter(torch.tensor(bias))
        self.noise, self.chunk = noise, chunk

    @property
    def coverage(self) -> bool:
        return True

    def attend(self, query: Queries, memory: Memory, t: Steps, coverage: Scores | None) -> Attended:
        assert coverage is not None
        inside, energies = memory.mask.unsqueeze(-2), self.score(query, memory.keys) + self.bias
        is_first = torch.arange(coverage.shape[-1], device=coverage.device) == 0
        before = coverage.where(t.unsqueeze(-1) > 0, is_first.to(coverage.dtype))
        if self.training:
            energies = energies + self.noise * torch.randn_like(energies)
            stops = expected_stops(torch.sigmoid(energies.to(coverage.dtype)) * inside, before)
        else:
            stops = first_stop((energies >= 0) & inside, before).to(coverage.dtype)
        weights = stops
        if isinstance(self.scope, ChunkScope):
            [keys] = memory.of_scope
            lowest = torch.finfo(coverage.dtype).min
            scores = self.scope.score(query, keys).to(coverage.dtype).masked_fill(~inside, lowest)
            weights = chunk_weights(scores, stops, self.chunk)
        alignment = MonotonicAlignment(weights, None)
        alignment.stops = stops
        return self.weighted_sums(weights.to(memory.values.dtype), memory.values), alignment


def expected_stops(p: Float[Tensor, "*B S"], before: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
    """α_s = p_s q_s, where q_s = (1 − p_{s−1}) q_{s−1} + `before`_s is the probability that position s is reached.

    By the recurrence itself (Raffel et al. 2017, equations 13 and 14): the closed form of its appendix C.1 divides by
    products of 1 − p, which may be 0.
    """
    goes_on = F.pad(1 - p, (1, 0))[..., :-1]
    reached = scan(goes_on.movedim(-1, 0), before.movedim(-1, 0), torch.zeros_like(p[..., 0]))
    return p * reached.movedim(0, -1)


def first_stop(stops: Bool[Tensor, "*B S"], before: Float[Tensor, "*B S"]) -> Bool[Tensor, "*B S"]:
    """The first position at or behind the last stop at which attention stops; none if there was no last stop."""
    stops = stops & (before.cumsum(dim=-1) > 0)
    return stops & (stops.long().cumsum(dim=-1) == 1)  # ONNX has no sums of truth values


def chunk_weights(scores: Float[Tensor, "*B S"], stops: Float[Tensor, "*B S"], chunk: int) -> Float[Tensor, "*B S"]:
    """β_s = Σ_k α_k softmax(u over the chunk that ends at k)_s."""
    length, lowest = scores.shape[-1], torch.finfo(scores.dtype).min
    chunks = [F.pad(scores, (back, 0), value=lowest)[..., :length] for back in range(chunk)]
    parts = torch.stack(chunks, dim=-1).softmax(dim=-1) * stops.unsqueeze(-1)
    shares = [F.pad(part, (0, back))[..., back:] for back, part in enumerate(parts.unbind(dim=-1))]
    return torch.stack(shares).sum(dim=0)
