"""Attention that is told where to look: what would the model say if it read another word?"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.kernels.packed import with_child
from nmt.model.attention import Alignment, Attention, Memory
from nmt.model.seq2seq import Seq2Seq


class ForcedAttention(Attention):
    """An attention, but that at some target positions all weight lies on one source position, for every sentence.

    `places` maps target positions to source positions, both from 0. Its parameters are those of the attention.
    """

    def __init__(self, attention: Attention, places: Mapping[int, int]) -> None:
        parts = attention.score, attention.scope, attention.heads
        super().__init__(*parts, hard=attention.hard, key_value=attention.key_value)
        self.places = dict(places)

    def _attend(
        self,
        query: Float[Tensor, "*B T H"],
        memory: Memory,
        t: Int[Tensor, "*#B T"],
        coverage: Float[Tensor, "*B T S"] | None,
    ) -> tuple[Float[Tensor, "*B T M"], Alignment]:
        contexts, alignment = super()._attend(query, memory, t, coverage)
        table = torch.full((max(self.places, default=-1) + 2,), -1, device=t.device)  # the last one is for all later t
        for at, place in self.places.items():
            table[at] = place
        wanted = table[t.clamp(max=len(table) - 1)].expand(contexts.shape[:-1]).unsqueeze(-1)
        position = wanted.clamp(min=0)
        weights = alignment.dense(memory.values.shape[-2])
        weights = torch.where(wanted < 0, weights, torch.zeros_like(weights).scatter(-1, position, 1.0))
        values = memory.values.gather(-2, position.expand_as(contexts))
        return torch.where(wanted < 0, contexts, values), Alignment(weights, None)


def forcing(model: Seq2Seq, places: Mapping[int, int]) -> Seq2Seq:
    """The same model, whose attention is forced onto source positions at some target positions.

    It shares all its layers. Raises `ValueError` if it has no attention.
    """
    attention = model.decoder.attention
    if not isinstance(attention, Attention):
        raise ValueError("this model has no attention that could be forced")
    return with_child(model, "decoder", with_child(model.decoder, "attention", ForcedAttention(attention, places)))
