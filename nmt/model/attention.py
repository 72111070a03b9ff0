"""Attention: a score and a scope give weights over the memory, which make the context that the decoder reads.

Shapes: B sentences, T queries of each, S source positions, W positions of a window, H query, M memory vector,
A alignment, n attention heads. With heads there is one more dimension, before that of the queries.
All T queries of a sentence are answered at once; a recurrent decoder that needs them one by one passes T = 1, and beam
search passes its K hypotheses as T = K queries to one memory, which therefore is never copied per hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.encoder import Encoded
from nmt.model.scopes import Scope, Steps, Weights
from nmt.model.scores import Queries, Score, Scores
from nmt.model.variants.heads import Heads

Contexts: TypeAlias = Float[Tensor, "*B T M"]
Attended: TypeAlias = "tuple[Contexts, Alignment]"


class Memory(NamedTuple):
    """What attention reads, computed once per sentence. Batch-first, so that search can select sentences.

    With n attention heads, values and keys have one more dimension, (B n S ·).
    """

    values: Float[Tensor, "B *n S M"]
    keys: Float[Tensor, "B *n S A"]
    mask: Bool[Tensor, "B *#n S"]  # False at padding
    lengths: Int[Tensor, "B *#n"]  # the sentence's own number of positions, EOS counted
    of_scope: tuple[Tensor, ...] = ()  # what else the scope needs of the sentences


class Alignment(NamedTuple):
    """Attention weights over source positions; positions that are not named have weight 0."""

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

    def mean_over_heads(self) -> Alignment:
        """(B n T W) as (B T W), or (B T nW) if each head has a window of its own."""
        weights = self.weights.transpose(1, 2)
        if self.positions is None:
            return Alignment(weights.mean(2), None)
        positions = self.positions.expand_as(self.weights).transpose(1, 2)
        return Alignment(weights.flatten(2) / weights.shape[2], positions.flatten(2))

    def added_to(self, total: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
        """Another tensor, with the weights added at their positions."""
        if self.positions is None:
            return total + self.weights
        positions = self.positions.expand_as(self.weights)  # heads may share them
        return total.scatter_add(-1, positions, self.weights.to(total.dtype))

    def dense(self, length: int) -> Float[Tensor, "*B S"]:
        """The weights of all S source positions."""
        return self.added_to(self.weights.new_zeros(*self.weights.shape[:-1], length))


class Attention(nn.Module):
    """A score, a scope, and the variants that the configuration names.

    `hard`: the context is the one value with the largest weight, trained straight through, as tutorials do it. (Xu et
    al. 2015, section 4.1, sample the position instead and train by REINFORCE.) `key_value` (Daniluk et al. 2017): half
    of each memory vector is scored and the other half averaged. A score with coverage (Tu et al. 2016) reads how much
    weight each position has got so far, which the decoder's state keeps.
    """

    def __init__(
        self, score: Score, scope: Scope, heads: Heads | None = None, *, hard: bool = False, key_value: bool = False
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

    def prepare(self, encoded: Encoded) -> Memory:
        """Project keys and values, once per sentence."""
        values = encoded.values
        scored, averaged = _halves(values) if self.key_value else (values, values)
        if self.heads is not None:
            scored = self.heads.split(self.heads.key(scored))
            averaged = self.heads.split(self.heads.value(averaged))
        mask = encoded.mask
        if self.score.positions is not None:
            mask = mask & (torch.arange(mask.shape[1], device=mask.device) < self.score.positions)
        of_scope = self.scope.prepare(encoded.source, mask, scored)
        return Memory(averaged, self.score.keys(scored), mask, encoded.lengths, of_scope)

    def forward(self, query: Queries, memory: Memory, t: Steps, coverage: Scores | None = None) -> Attended:
        """The context vectors c = Σ_s α_s v_s and the weights α of T queries per sentence. Padding has weight 0.

        `t` are the queries' target positions, from 0; `coverage` is for an attention that has it, 0 at t = 0. With
        several heads the alignment is their mean.
        """
        contexts, alignment = self.each_head(query, memory, t, coverage)
        return (contexts, alignment) if self.heads is None else (self.heads.join(contexts), alignment.mean_over_heads())

    def each_head(
        self, query: Queries, memory: Memory, t: Steps, coverage: Scores | None = None
    ) -> tuple[Float[Tensor, "*N T M"], Alignment]:
        """The context vectors and the weights of each of n heads; without heads those of the whole attention."""
        return self.attend(*self.split(query, memory, t, coverage))

    def split(
        self, query: Queries, memory: Memory, t: Steps, coverage: Scores | None
    ) -> tuple[Float[Tensor, "*N T h"], Memory, Int[Tensor, "*#N T"], Float[Tensor, "*N T S"] | None]:
        """The same with a dimension of heads, if there are any; what is the same for all of them has size 1 there."""
        if self.heads is None:
            return query, memory, t, coverage
        query = self.heads.split(self.heads.query(query))
        memory = memory._replace(mask=memory.mask.unsqueeze(1), lengths=memory.lengths.unsqueeze(1))
        if coverage is not None:
            coverage = coverage.unsqueeze(1).expand(-1, self.heads.count, -1, -1)
        return query, memory, t.unsqueeze(1), coverage

    def attend(self, query: Queries, memory: Memory, t: Steps, coverage: Scores | None) -> Attended:
        """`forward` of one head, or of all heads before they are joined."""
        queries_per_pass = query.shape[-2] if self.score.one_product else 1
        window = self.scope(query, t, memory.mask, memory.lengths, queries_per_pass)
        if window.positions is None:
            values, scores = memory.values, self.score(query, memory.keys, coverage)
        else:  # each query has keys and values of its own, (*B T W ·), so it is scored alone: (*B T 1 H)
            keys, values = (self.gather(vectors, window.positions) for vectors in (memory.keys, memory.values))
            if coverage is not None:
                coverage = coverage.gather(-1, window.positions.expand(*coverage.shape[:-1], -1)).unsqueeze(-2)
            scores = self.score(query.unsqueeze(-2), keys, coverage).squeeze(-2)
        weights = self.scope.weights(scores, window, query, memory.of_scope)
        if self.hard:
            weights = _straight_through(weights, window.inside)
        if window.positions is None:
            contexts = self.weighted_sums(weights, values)
        else:
            contexts = self.weighted_sums(weights.unsqueeze(-2), values).squeeze(-2)
        return contexts, Alignment(weights, window.positions)

    def weighted_sums(self, weights: Weights, values: Float[Tensor, "*B W M"]) -> Contexts:
        """Σ_s α_s v_s for each query."""
        return weights @ values

    def gather(self, vectors: Float[Tensor, "*B S X"], positions: Int[Tensor, "*#B T W"]) -> Float[Tensor, "*B T W X"]:
        """The vectors at the positions of each query's window."""
        *batch, length, size = vectors.shape
        positions = positions.expand(*batch, -1, -1)
        first_rows = length * torch.arange(positions.flatten(0, -3).shape[0], device=vectors.device)
        rows = positions.flatten(0, -3) + first_rows[:, None, None]
        return vectors.flatten(0, -2).index_select(0, rows.flatten()).view(*positions.shape, size)


class FixedContext(nn.Module):
    """No attention: every query gets the encoder's final states (Cho et al. 2014; Sutskever et al. 2014)."""

    coverage = False

    def prepare(self, encoded: Encoded) -> Memory:
        values = encoded.final.unsqueeze(1)
        return Memory(values, values, torch.ones_like(encoded.mask[:, :1]), torch.ones_like(encoded.lengths))

    def forward(self, query: Queries, memory: Memory, t: Steps, coverage: None = None) -> Attended:
        """The same context for all queries."""
        return memory.values.expand(-1, query.shape[1], -1), Alignment(query.new_ones(*query.shape[:2], 1), None)


def _halves(values: Float[Tensor, "B S M"]) -> tuple[Float[Tensor, "B S M/2"], Float[Tensor, "B S M/2"]]:
    """Half of each direction's state twice, so that either half has read the sentence from both sides."""
    first, second = values.unflatten(2, (2, -1)).chunk(2, dim=3)
    return first.flatten(2), second.flatten(2)


def _straight_through(weights: Weights, inside: Bool[Tensor, "*#BT W"]) -> Weights:
    """1 at the largest weight and 0 elsewhere, with the gradient of the weights themselves."""
    one_hot = torch.zeros_like(weights).scatter(-1, weights.argmax(dim=-1, keepdim=True), 1.0) * inside
    return one_hot + (weights - weights.detach())
