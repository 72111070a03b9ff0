"""Attention: how well each source position fits a query (score), and which positions take part (scope).

Shapes: B batch, T queries per sentence, S source positions, H query, M memory vector, A alignment.
All T queries of a sentence are answered at once; a recurrent decoder that needs them one by one passes T = 1, and beam
search passes its K hypotheses as T = K queries to one memory, which therefore is never copied per hypothesis.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.model.encoder import Encoded


class Memory(NamedTuple):
    """What the decoder may look at, computed once per sentence. Batch-first, so that search can select sentences."""

    values: Float[Tensor, "B S M"]
    keys: Float[Tensor, "B S A"]
    mask: Bool[Tensor, "B S"]  # True at the sentence's own positions, False at padding
    lengths: Int[Tensor, " B"]  # the number of them, EOS counted


class AdditiveScore(nn.Module):
    """v_aᵀ tanh(W_a h + U_a v_s): Bahdanau et al. 2015, A.1.2.

    Luong et al. 2015, section 3.1 write it as `concat`, v_aᵀ tanh(W [h; v_s]): the same function, with W = [W_a U_a].
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)
        self.memory = nn.Linear(memory_size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)

    def keys(self, values: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        return self.memory(values)

    def forward(self, query: Float[Tensor, "B T H"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return self.v(torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1))).squeeze(3)


class GeneralScore(nn.Module):
    """hᵀ W_a v_s: Luong et al. 2015, section 3.1. The keys W_a v_s are computed once, with A = H."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.memory = nn.Linear(memory_size, query_size, bias=False)

    def keys(self, values: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        return self.memory(values)

    def forward(self, query: Float[Tensor, "B T H"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class DotScore(nn.Module):
    """hᵀ v_s: Luong et al. 2015, section 3.1. Needs H = M."""

    def keys(self, values: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        return values

    def forward(self, query: Float[Tensor, "B T H"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


Score: TypeAlias = AdditiveScore | GeneralScore | DotScore


class GlobalScope(nn.Module):
    """Softmax over all of the sentence's positions."""

    def forward(
        self, query: Float[Tensor, "B T H"], memory: Memory, score: Score
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        scores = score(query, memory.keys)
        weights = scores.masked_fill(~memory.mask.unsqueeze(1), -torch.inf).softmax(dim=2)
        return weights @ memory.values, weights


class LocalPredictiveScope(nn.Module):
    """local-p: a window around a predicted position (Luong et al. 2015, section 3.2, equations 9 and 10).

    p_t = S · sigmoid(v_pᵀ tanh(W_p h_t)) with the sentence's own S; softmax over the integers of
    [p_t − D, p_t + D] ∩ [0, S − 1], times exp(−(s − p_t)² / 2σ²) with σ = D/2, not renormalised.
    On sources longer than the window only its 2D + 1 positions are scored and averaged.
    """

    def __init__(self, query_size: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.hidden = nn.Linear(query_size, query_size, bias=False)
        self.v = nn.Linear(query_size, 1, bias=False)

    def centre(self, query: Float[Tensor, "B T H"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B T 1"]:
        """p_t, in source positions."""
        return lengths[:, None, None] * torch.sigmoid(self.v(torch.tanh(self.hidden(query))))

    def forward(
        self, query: Float[Tensor, "B T H"], memory: Memory, score: Score
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        sentences, length, _ = memory.keys.shape
        width = 2 * self.window + 1
        centre = self.centre(query, memory.lengths)
        if length <= width:
            positions = torch.arange(length, device=query.device)
            weights = self._weights(score(query, memory.keys), positions, centre, memory.lengths)
            return weights @ memory.values, weights
        # The window's first integer, moved inwards at the ends so that all of its places exist in memory.
        first = (centre.detach() - self.window).ceil().clamp(0, length - width).long()
        positions = first + torch.arange(width, device=query.device)  # (B T W)
        rows = (positions + length * torch.arange(sentences, device=query.device)[:, None, None]).flatten()
        keys, values = (
            x.flatten(0, 1).index_select(0, rows).view(-1, width, x.shape[2]) for x in (memory.keys, memory.values)
        )
        scores = score(query.flatten(0, 1).unsqueeze(1), keys).view(positions.shape)  # each query has keys of its own
        weights = self._weights(scores, positions, centre, memory.lengths)
        context = (weights.flatten(0, 1).unsqueeze(1) @ values).view(*query.shape[:2], -1)
        return context, weights.new_zeros(*query.shape[:2], length).scatter(2, positions, weights)

    def _weights(
        self,
        scores: Float[Tensor, "B T W"],
        positions: Int[Tensor, "*#BT W"],
        centre: Float[Tensor, "B T 1"],
        lengths: Int[Tensor, " B"],
    ) -> Float[Tensor, "B T W"]:
        distance = positions - centre
        inside = (distance.abs() <= self.window) & (positions < lengths[:, None, None])
        weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=2)
        return weights * torch.exp(-2 * (distance / self.window) ** 2)  # 2σ² = D²/2


Scope: TypeAlias = GlobalScope | LocalPredictiveScope


class Attention(nn.Module):
    """A score and a scope: weights over the memory, and the context that they average."""

    def __init__(self, score: Score, scope: Scope) -> None:
        super().__init__()
        self.score = score
        self.scope = scope

    def prepare(self, encoded: Encoded) -> Memory:
        """Project the keys, once per sentence."""
        return Memory(encoded.values, self.score.keys(encoded.values), encoded.mask, encoded.lengths)

    def forward(
        self, query: Float[Tensor, "B T H"], memory: Memory
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The context vectors and the attention weights of T queries per sentence. Padding has weight exactly 0."""
        return self.scope(query, memory, self.score)


class FixedContext(nn.Module):
    """No attention: every query gets the encoder's final states (Cho et al. 2014; Sutskever et al. 2014).

    The memory has a single position, which all weight lies on.
    """

    def prepare(self, encoded: Encoded) -> Memory:
        values = encoded.final.unsqueeze(1)
        return Memory(values, values, torch.ones_like(encoded.mask[:, :1]), torch.ones_like(encoded.lengths))

    def forward(
        self, query: Float[Tensor, "B T H"], memory: Memory
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T 1"]]:
        return memory.values.expand(-1, query.shape[1], -1), query.new_ones(*query.shape[:2], 1)


def make_attention(
    score: Literal["additive", "concat", "general", "dot"],
    scope: Literal["global", "local_p"],
    *,
    query_size: int,
    memory_size: int,
    size: int,
    window: int,
) -> Attention:
    """Choose score and scope; `size` is A of the additive score, `window` is D of the local scope, in positions."""
    scorer: Score
    match score:
        case "additive" | "concat":
            scorer = AdditiveScore(query_size, memory_size, size)
        case "general":
            scorer = GeneralScore(query_size, memory_size)
        case "dot":
            scorer = DotScore()
    match scope:
        case "global":
            return Attention(scorer, GlobalScope())
        case "local_p":
            return Attention(scorer, LocalPredictiveScope(query_size, window))
