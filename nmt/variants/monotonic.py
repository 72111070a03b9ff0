"""Monotonic attention, with chunks or without.

Shapes: B sentences, T queries of each (1 in training, the beam in search), S source positions, w of a chunk.
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

WINDOW = 8  # positions that search scores at a time


def make(config: Any, score: Score, scope: Scope, of_chunks: Score | None) -> MonotonicAttention:
    """The attention of a section `model.attention`; `of_chunks` is the second score, if it has chunks."""
    scope = scope if of_chunks is None else ChunkScope(of_chunks)
    return MonotonicAttention(score, scope, key_value=config.key_value, **dict(config.monotonic))


class MonotonicAlignment(Alignment):
    """The weights of a step. The decoder's state keeps its stops, in the place of the sum of all weights so far."""

    stops: Float[Tensor, "*B S"]

    @classmethod
    def of(cls, weights: Tensor, positions: Tensor | None, stops: Tensor) -> MonotonicAlignment:
        alignment = cls(weights, positions)
        alignment.stops = stops
        return alignment

    def added_to(self, total: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
        return self.stops

    def dense(self, length: int) -> Float[Tensor, "*B S"]:
        return Alignment(self.weights, self.positions).dense(length)


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
    then on. From the last stop on it scores `WINDOW` positions at a time, so search takes linear time. With chunks of w
    positions the context is a softmax of a second score over the last w positions up to the stop, in training its mean
    over all stops (Chiu and Raffel 2018, sections 2.3 and 2.4).

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
        is_first = torch.arange(coverage.shape[-1], device=coverage.device) == 0
        before = coverage.where(t.unsqueeze(-1) > 0, is_first.to(coverage.dtype))
        if not self.training:
            return self.read(self.next_stops(query, memory, before), query, memory)
        inside, energies = memory.mask.unsqueeze(-2), self.score(query, memory.keys) + self.bias
        energies = energies + self.noise * torch.randn_like(energies)
        weights = stops = expected_stops(torch.sigmoid(energies.to(before.dtype)) * inside, before)
        if isinstance(self.scope, ChunkScope):
            [keys] = memory.of_scope
            lowest = torch.finfo(before.dtype).min
            scores = self.scope.score(query, keys).to(before.dtype).masked_fill(~inside, lowest)
            weights = chunk_weights(scores, stops, self.chunk)
        contexts = self.weighted_sums(weights.to(memory.values.dtype), memory.values)
        return contexts, MonotonicAlignment.of(weights, None, stops)

    def next_stops(self, query: Queries, memory: Memory, before: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        """1 at the position where a query stops, if it stops at all; 0 elsewhere (algorithm 1)."""
        if torch.onnx.is_in_onnx_export():  # a traced graph cannot have a loop whose length depends on the data
            energies = self.score(query, memory.keys) + self.bias
            return first_stop((energies >= 0) & memory.mask.unsqueeze(-2), before).to(before.dtype)
        start, searching, stops = before.argmax(dim=-1), before.amax(dim=-1) > 0, torch.zeros_like(before)
        ahead = torch.arange(WINDOW, device=start.device)
        while searching.any():
            rows = searching.nonzero(as_tuple=True)
            positions = start[rows].unsqueeze(-1) + ahead
            inside = positions < memory.lengths[rows[0]].unsqueeze(-1)
            positions = positions.where(inside, 0)
            keys = memory.keys[rows[0].unsqueeze(-1), positions]
            is_stop = (self.score(query[rows].unsqueeze(-2), keys).squeeze(-2) + self.bias >= 0) & inside
            is_first = is_stop & (is_stop.cumsum(dim=-1) == 1)
            stops[rows] = stops[rows].scatter_add(-1, positions, is_first.to(stops.dtype))
            searching[rows] = inside.all(dim=-1) & ~is_stop.any(dim=-1)
            start += WINDOW
        return stops

    def read(self, stops: Float[Tensor, "B T S"], query: Queries, memory: Memory) -> Attended:
        """The context of each query, from the chunk that ends where it stops."""
        positions = stops.argmax(dim=-1, keepdim=True) + torch.arange(1 - self.chunk, 1, device=stops.device)
        inside, positions = (positions >= 0) & (stops.amax(dim=-1, keepdim=True) > 0), positions.clamp(min=0)
        weights = inside.to(stops.dtype)
        if isinstance(self.scope, ChunkScope):
            keys = self.gather(memory.of_scope[0], positions)
            scores = self.scope.score(query.unsqueeze(-2), keys).squeeze(-2)
            weights = self.scope.normalizer(scores.to(stops.dtype), inside)
        values = self.gather(memory.values, positions)
        contexts = self.weighted_sums(weights.unsqueeze(-2).to(values.dtype), values).squeeze(-2)
        return contexts, MonotonicAlignment.of(weights, positions, stops)


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
