"""What a model makes of given translations: their probability, and its attention. Ids in, values out.

Shapes: N pairs, T target ids and the end of the sentence, S source ids and the end of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.data.batching import Batch, Example, collate
from nmt.decoding.ensemble import TranslationModel, without_dropout
from nmt.system.device import flush_denormals
from nmt.text.vocabulary import EOS


class Scored(NamedTuple):
    """The log-probability in nats of a target's tokens and the end of the sentence, and how many these are."""

    log_probability: float
    tokens: int


@flush_denormals()
@torch.inference_mode()
def score(model: TranslationModel, pairs: Sequence[Example], batch_size: int) -> list[Scored]:
    """The score of each pair's target beside its source, in their order, by teacher forcing among all types."""
    scores: dict[int, Scored] = {}
    with without_dropout(model):
        for indices, batch, state, memory in _encoded(model, pairs, batch_size):
            sums = torch.zeros(len(indices), dtype=torch.float64, device=model.device)
            columns = (batch.target_input, batch.target_output, batch.real.to(model.device))
            for tokens, targets, is_real in zip(*(x.unbind(dim=1) for x in columns), strict=True):
                log_probabilities, state = model.step(tokens, state, memory)
                sums += log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1) * is_real
            scores |= zip(indices, map(Scored, sums.tolist(), batch.target_lengths.tolist()), strict=True)
    return [scores[i] for i in range(len(pairs))]


@flush_denormals()
@torch.inference_mode()
def forced_attention(model: TranslationModel, pairs: Sequence[Example], batch_size: int) -> list[Float[Tensor, "T S"]]:
    """The attention weights while the model reads each pair's target by teacher forcing: a matrix each, in order.

    Row t is the attention of the step that predicts target id t, which has read only those before it.
    """
    matrices: dict[int, Tensor] = {}
    with without_dropout(model):
        for indices, batch, state, memory in _encoded(model, pairs, batch_size):
            targets = [[*pairs[i].target, EOS] for i in indices]
            weights = attention_weights(model, targets, batch.source_lengths.tolist(), state, memory)
            matrices |= zip(indices, weights, strict=True)
    return [matrices[i] for i in range(len(pairs))]


@torch.no_grad()
def attention_weights(
    model: TranslationModel, targets: Sequence[Sequence[int]], source_lengths: Sequence[int], state: Any, memory: Any
) -> list[Float[Tensor, "T S"]]:
    """The weights of each row while its target ids are written, cut to its own lengths. The last id is never read."""
    inputs = collate([Example([], list(ids[:-1])) for ids in targets]).target_input.to(model.device)
    weights = model.attention_weights(inputs, state, memory)
    weights = weights.to("cpu", torch.promote_types(weights.dtype, torch.float32))  # autocast gives bfloat16
    lengths = zip(weights, targets, source_lengths, strict=True)
    return [matrix[: len(ids), :source_length] for matrix, ids, source_length in lengths]


def _encoded(
    model: TranslationModel, pairs: Sequence[Example], batch_size: int
) -> Iterator[tuple[list[int], Batch, Any, Any]]:
    """Batches of like length, each with its pairs' indices, and the state and memory of its sources."""
    order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i].target), -len(pairs[i].source)))
    for begin in range(0, len(order), batch_size):
        indices = order[begin : begin + batch_size]
        batch = collate([pairs[i] for i in indices]).to(model.device)
        yield indices, batch, *model.encode(batch.source, batch.source_lengths)
