"""Decoding steps as values: the query, each position's score and weight, the context, and what comes next.

The decoder's own `step` takes them, one token at a time. What it does not return is computed from the same tensors.

Shapes: S source positions with the end of the sentence, n attention heads (1 without them), H query, M context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.data.batching import pad_source
from nmt.model.attention import Attention, Memory
from nmt.model.decoder import Decoder, DecoderState
from nmt.model.luong import LuongDecoder
from nmt.model.scopes import LocalScope
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, PAD


@dataclass(frozen=True)
class AttentionTrace:
    """What one step's attention did.

    `scores` are those of all S positions, before the softmax, also of those that the scope or a forced position leaves
    out: these have weight 0. `parts` are what each position adds to the context, which is their sum. `centre` is p_t of
    a local scope, in source positions, and `window` its D. `coverage` is the weight that each position got before.
    """

    scores: Float[Tensor, "n S"]
    weights: Float[Tensor, "n S"]
    parts: Float[Tensor, "S M"]
    centre: Float[Tensor, " n"] | None
    window: int | None
    coverage: Float[Tensor, " S"] | None

    @property
    def contributions(self) -> Float[Tensor, " S"]:
        """The projection of each part onto the context, divided by the context's length: they add up to 1."""
        context = self.parts.sum(dim=0)
        return self.parts @ context / (context * context).sum().clamp(min=1e-12)


@dataclass(frozen=True)
class DecodingStep:
    """One step: the query, the trace of attention (None without attention), the context, and what comes next.

    `chosen` is the id that was written, `probability` the model's for it, and `place` how many ids are likelier.
    `likeliest` are ids with their probabilities, best first, among all that a translation can hold.
    """

    query: Float[Tensor, " H"]
    attention: AttentionTrace | None
    context: Float[Tensor, " M"]
    chosen: int
    probability: float
    place: int
    likeliest: tuple[tuple[int, float], ...]


@torch.inference_mode()
def steps(model: Seq2Seq, source: Sequence[int], target: Sequence[int], likeliest: int = 10) -> list[DecodingStep]:
    """The steps in which the model writes these target ids for these source ids, one for each target id.

    Source ids are without EOS, target ids with it if they have ended. The model is to be in evaluation mode.
    """
    padded, lengths = pad_source([source])
    state, memory = model.encode(padded.to(model.device), lengths)
    if not target:
        return []
    decoder, taken, states = model.decoder, [], []
    for inputs in decoder.embed(torch.tensor([BOS, *target[:-1]], device=model.device)).split(1):
        before = state
        readout, state, _ = decoder.step(inputs, before, memory)
        taken.append((readout, query_of(decoder, before, state)))
        states.append(before)
    readouts, queries = map(torch.cat, zip(*taken, strict=True))
    traces, contexts = attention_traces(model, queries, states, memory)
    log_probabilities = decoder.logits(readouts).log_softmax(dim=1)
    log_probabilities[:, [PAD, BOS]] = -torch.inf  # no target ever holds them
    best = log_probabilities.topk(min(likeliest, log_probabilities.shape[1] - 2), dim=1)  # but those two
    written = log_probabilities.gather(1, torch.tensor([*target], device=model.device).unsqueeze(1))
    ranks = (log_probabilities > written).sum(dim=1)
    pairs = zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    chances = zip(target, written.exp().flatten().tolist(), ranks.tolist(), pairs, strict=True)
    return [
        DecodingStep(query, trace, context.cpu(), token, probability, rank, tuple(zip(*pair, strict=True)))
        for query, trace, context, (token, probability, rank, pair) in zip(
            queries.cpu(), traces, contexts.cpu(), chances, strict=True
        )
    ]


def query_of(decoder: Decoder, before: DecoderState, after: DecoderState) -> Float[Tensor, "N H"]:
    """The query of a step's attention: the new state with Luong's wiring, otherwise the previous one."""
    return decoder.rnn.top((after if isinstance(decoder, LuongDecoder) else before).hidden)


def attention_traces(
    model: Seq2Seq, queries: Float[Tensor, "T H"], states: Sequence[DecoderState], memory: Memory
) -> tuple[Sequence[AttentionTrace | None], Float[Tensor, "T M"]]:
    """What attention did in T steps of a sentence, given the states before them; and the contexts."""
    attention = model.decoder.attention
    query, t, coverage = queries.unsqueeze(0), torch.cat([state.t for state in states]).unsqueeze(0), None
    if not isinstance(attention, Attention):
        return [None] * len(queries), attention(query, memory, t)[0][0]
    if attention.coverage:
        coverage = torch.cat([state.coverage for state in states if state.coverage is not None]).unsqueeze(0)
    _, alignment = attention.each_head(query, memory, t, coverage)
    # Without a dimension of heads they are one head.
    queried, split, at, covered = attention.split(query, memory, t, coverage)
    shape = (-1, len(queries), memory.values.shape[-2])
    weights = alignment.dense(shape[2]).reshape(shape)
    parts = weights.unsqueeze(-1) * memory.values[0].reshape(-1, 1, *memory.values.shape[-2:])
    joined = parts[0] if attention.heads is None else attention.heads.join(parts.transpose(0, 1))
    scores = attention.score(queried, split.keys, covered).reshape(shape)
    local = attention.scope if isinstance(attention.scope, LocalScope) else None
    if local is not None:
        centres = local.centre(queried, at, split.lengths).expand(queried.shape[:-1]).reshape(shape[:2])
    traces = [
        AttentionTrace(
            scores[:, i].cpu(),
            weights[:, i].cpu(),
            joined[i].cpu(),
            None if local is None else centres[:, i].cpu(),
            None if local is None else local.window,
            None if coverage is None or attention.score.coverage is None else coverage[0, i].cpu(),
        )
        for i in range(len(queries))
    ]
    return traces, joined.sum(dim=1)
