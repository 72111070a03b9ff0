"""Attention: a score and a scope give weights over the memory, which make the context that the decoder reads.

Shapes: B sentences, T queries of each, S source positions, W places of a window, H query, M memory vector,
A alignment, n attention heads. With heads, B is B n: they are a dimension more, before that of the queries.
All T queries of a sentence are answered at once; a recurrent decoder that needs them one by one passes T = 1, and beam
search passes its K hypotheses as T = K queries to one memory, which therefore is never copied per hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels import Linear, gather_windows, reused, weighted_sums
from nmt.model.encoder import Encoded
from nmt.model.scopes import Scope, Window
from nmt.model.scores import Score


class Memory(NamedTuple):
    """What the decoder may look at, computed once per sentence. Batch-first, so that search can select sentences.

    With n attention heads, values and keys have a dimension more, (B n S ·).
    """

    values: Float[Tensor, "B *n S M"]
    keys: Float[Tensor, "B *n S A"]
    mask: Bool[Tensor, "B *#n S"]  # True where there is something to look at, False at padding
    lengths: Int[Tensor, "B *#n"]  # the sentence's own number of positions, EOS counted
    of_scope: tuple[Tensor, ...] = ()  # what else the scope needs of the sentences


class Alignment(NamedTuple):
    """Attention weights over source positions; those that are not named have weight 0."""

    weights: Float[Tensor, "*B W"]
    positions: Int[Tensor, "*B W"] | None  # None: all of the source's, W = S

    @classmethod
    def stack(cls, steps: Sequence[Alignment]) -> Alignment:
        """Those of T steps, (N W) each, as one (N T W)."""
        weights, positions = zip(*steps, strict=True)
        return cls(torch.stack(weights, dim=1), None if positions[0] is None else torch.stack(positions, dim=1))

    def flatten(self) -> Alignment:
        """(B K W) as (N W), N = B·K."""
        return Alignment(self.weights.flatten(0, 1), None if self.positions is None else self.positions.flatten(0, 1))

    def added_to(self, total: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
        """Another tensor, with the weights added at their positions."""
        if self.positions is None:
            return total + self.weights
        positions = self.positions.expand_as(self.weights)  # heads may share them
        return total.scatter_add(-1, positions, self.weights.to(total.dtype))

    def dense(self, length: int) -> Float[Tensor, "*B S"]:
        """The weights of all S source positions."""
        return self.added_to(self.weights.new_zeros(*self.weights.shape[:-1], length))


class Heads(nn.Module):
    """n projections of queries, keys and values, and one of the joined contexts (Vaswani et al. 2017, section 3.2.2).

    All heads share one score and one scope, which work on the projections. n must divide the sizes of query and value.
    """

    def __init__(self, count: int, query_size: int, value_size: int) -> None:
        super().__init__()
        self.count = count
        self.query = Linear(query_size, query_size, bias=False)
        self.key = Linear(value_size, query_size, bias=False)
        self.value = Linear(value_size, value_size, bias=False)
        self.output = Linear(value_size, value_size, bias=False)

    def split(self, projected: Float[Tensor, "B L D"]) -> Float[Tensor, "B n L d"]:
        """The projections' parts, one for each head."""
        return projected.unflatten(2, (self.count, -1)).transpose(1, 2)

    def join(self, contexts: Float[Tensor, "B n T d"]) -> Float[Tensor, "B T D"]:
        """The contexts of all heads, joined and projected."""
        return self.output(contexts.transpose(1, 2).flatten(2))

    def mean(self, alignment: Alignment) -> Alignment:
        """One alignment for all heads, whose windows may differ."""
        weights, positions = alignment.weights.transpose(1, 2), alignment.positions
        if positions is None:
            return Alignment(weights.mean(2), None)
        positions = positions.expand_as(alignment.weights).transpose(1, 2)
        return Alignment(weights.flatten(2) / self.count, positions.flatten(2))


class Attention(nn.Module):
    """How a decoder looks at the source: score and scope, and what else the configuration chose.

    `hard`: the context is the one value with the largest weight, trained straight through, as tutorials do it. (Xu et
    al. 2015, section 4.1, sample the position instead and train by REINFORCE.) `key_value` (Daniluk et al. 2017): half
    of each memory vector is scored and the other half averaged. A score with coverage (Tu et al. 2016) sees how much
    weight each position has got so far, which the decoder's state keeps.
    """

    def __init__(
        self,
        score: Score,
        scope: Scope,
        heads: Heads | None = None,
        *,
        hard: bool = False,
        key_value: bool = False,
    ) -> None:
        super().__init__()
        self.score = score
        self.scope = scope
        self.heads = heads
        self.hard = hard
        self.key_value = key_value

    @property
    def coverage(self) -> bool:
        """Whether `forward` needs it."""
        return self.score.coverage is not None

    def prepare(self, encoded: Encoded, done: int | None = None) -> Memory:
        """Project keys and values, once per sentence. In training, `done` are the updates done before."""
        values = encoded.values
        scored, averaged = _halves(values) if self.key_value else (values, values)
        if self.heads is not None:
            scored = self.heads.split(self.heads.key(scored))
            averaged = self.heads.split(self.heads.value(averaged))
        mask = encoded.mask
        if self.score.positions is not None:
            mask = mask & (torch.arange(mask.shape[1], device=mask.device) < self.score.positions)
        keys = self.score.keys(scored)
        of_scope = self.scope.prepare(encoded.source, mask, scored, done)
        return Memory(reused(averaged), reused(keys), mask, encoded.lengths, of_scope)

    def forward(
        self,
        query: Float[Tensor, "B T H"],
        memory: Memory,
        t: Int[Tensor, "B T"],
        coverage: Float[Tensor, "B T S"] | None = None,
    ) -> tuple[Float[Tensor, "B T M"], Alignment]:
        """The context vectors and the weights of T queries per sentence. Padding has weight exactly 0.

        `t` are the queries' target positions, from 0; `coverage` is for an attention that has it, 0 at t = 0. With
        several heads the alignment is their mean.
        """
        contexts, alignment = self.each_head(query, memory, t, coverage)
        if self.heads is None:
            return contexts, alignment
        return self.heads.join(contexts), self.heads.mean(alignment)

    def each_head(
        self,
        query: Float[Tensor, "B T H"],
        memory: Memory,
        t: Int[Tensor, "B T"],
        coverage: Float[Tensor, "B T S"] | None = None,
    ) -> tuple[Float[Tensor, "B *n T M"], Alignment]:
        """Of each of n heads the context vectors and the weights; without heads those of the whole attention."""
        return self._attend(*self.split(query, memory, t, coverage))

    def split(
        self,
        query: Float[Tensor, "B T H"],
        memory: Memory,
        t: Int[Tensor, "B T"],
        coverage: Float[Tensor, "B T S"] | None,
    ) -> tuple[Float[Tensor, "B *n T h"], Memory, Int[Tensor, "B *#n T"], Float[Tensor, "B *n T S"] | None]:
        """The same with a dimension of heads, if there are any; what is the same for all of them has size 1 there."""
        if self.heads is None:
            return query, memory, t, coverage
        query = self.heads.split(self.heads.query(query))
        memory = memory._replace(mask=memory.mask.unsqueeze(1), lengths=memory.lengths.unsqueeze(1))
        if coverage is not None:
            coverage = coverage.unsqueeze(1).expand(-1, self.heads.count, -1, -1)
        return query, memory, t.unsqueeze(1), coverage

    def _attend(
        self,
        query: Float[Tensor, "*B T H"],
        memory: Memory,
        t: Int[Tensor, "*#B T"],
        coverage: Float[Tensor, "*B T S"] | None,
    ) -> tuple[Float[Tensor, "*B T M"], Alignment]:
        together = query.shape[-2] if self.score.batched else 1
        window = self.scope(query, t, memory.mask, memory.lengths, together, memory.of_scope)
        if window.positions is None:
            scores = self.score(query, memory.keys, coverage)
            weights = self._weights(scores, window, query, memory)
            return weighted_sums(weights, memory.values), Alignment(weights, None)
        # Each query has keys and values of its own, (*B T W ·), and is alone with them: (*B T 1 H).
        keys, values = (gather_windows(x, window.positions) for x in (memory.keys, memory.values))
        if coverage is not None:
            coverage = coverage.gather(-1, window.positions.expand(*coverage.shape[:-1], -1)).unsqueeze(-2)
        scores = self.score(query.unsqueeze(-2), keys, coverage).squeeze(-2)
        weights = self._weights(scores, window, query, memory)
        return weighted_sums(weights.unsqueeze(-2), values).squeeze(-2), Alignment(weights, window.positions)

    def _weights(
        self, scores: Float[Tensor, "*B T W"], window: Window, query: Float[Tensor, "*B T H"], memory: Memory
    ) -> Float[Tensor, "*B T W"]:
        weights = self.scope.weights(scores, window, query, memory.of_scope)
        return _straight_through(weights, window.inside) if self.hard else weights


class FixedContext(nn.Module):
    """No attention: every query gets the encoder's final states (Cho et al. 2014; Sutskever et al. 2014).

    The memory has a single position, which all weight lies on.
    """

    coverage = False

    def prepare(self, encoded: Encoded, done: int | None = None) -> Memory:
        values = encoded.final.unsqueeze(1)
        return Memory(values, values, torch.ones_like(encoded.mask[:, :1]), torch.ones_like(encoded.lengths))

    def forward(
        self, query: Float[Tensor, "B T H"], memory: Memory, t: Int[Tensor, "B T"], coverage: None = None
    ) -> tuple[Float[Tensor, "B T M"], Alignment]:
        """The same context for all queries."""
        return memory.values.expand(-1, query.shape[1], -1), Alignment(query.new_ones(*query.shape[:2], 1), None)


def _halves(values: Float[Tensor, "B S M"]) -> tuple[Float[Tensor, "B S M/2"], Float[Tensor, "B S M/2"]]:
    """Half of each direction's state twice, so that either half has seen the sentence from both sides."""
    first, second = values.unflatten(2, (2, -1)).chunk(2, dim=3)
    return first.flatten(2), second.flatten(2)


def _straight_through(weights: Float[Tensor, "*B T W"], inside: Bool[Tensor, "*#BT W"]) -> Float[Tensor, "*B T W"]:
    """1 at the largest weight and 0 elsewhere, with the gradient of the weights themselves."""
    one_hot = torch.zeros_like(weights).scatter(-1, weights.argmax(dim=-1, keepdim=True), 1.0) * inside
    return one_hot + (weights - weights.detach())
