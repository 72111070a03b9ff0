"""How probable a model finds given translations. Ids in, log-probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmt.data.batching import Example, collate
from nmt.decoding.batches import without_dropout
from nmt.decoding.model import TranslationModel


class Scored(NamedTuple):
    """The log-probability in nats of a target's tokens and the end of the sentence, and how many these are."""

    log_probability: float
    tokens: int


def score(model: TranslationModel, pairs: Sequence[Example], batch_size: int) -> list[Scored]:
    """The score of each pair's target beside its source, in their order, by teacher forcing among all types."""
    order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i].target), -len(pairs[i].source)))
    scores: dict[int, Scored] = {}
    with without_dropout(model), torch.inference_mode():
        for begin in range(0, len(order), batch_size):
            chosen = order[begin : begin + batch_size]
            batch = collate([pairs[i] for i in chosen]).to(model.device)
            state, memory = model.encode(batch.source, batch.source_lengths)
            sums = torch.zeros(len(chosen), dtype=torch.float64, device=model.device)
            parts = (batch.target_input, batch.target_output, batch.real.to(model.device))
            steps = zip(*(part.unbind(dim=1) for part in parts), strict=True)
            for tokens, targets, is_real in steps:
                log_probabilities, state = model.step(tokens, state, memory)
                sums += log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1) * is_real
            scores |= zip(chosen, map(Scored, sums.tolist(), batch.target_lengths.tolist()), strict=True)
    return [scores[i] for i in range(len(pairs))]
