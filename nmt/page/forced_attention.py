"""Attention forced onto source positions: what would the model write if it read another word?"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.decoding.ensemble import with_child
from nmt.model.attention import Alignment, Attention, Memory
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError


class ForcedAttention(Attention):
    """An attention, except that at some target positions all weight lies on one source position, for every sentence.

    The table, as `forced_by` has it, says where. Its parameters are those of the attention.
    """

    def __init__(self, attention: Attention, table: Int[Tensor, " L"]) -> None:
        components = attention.score, attention.scope, attention.heads
        super().__init__(*components, hard=attention.hard, key_value=attention.key_value)
        self.table = table

    def attend(
        self,
        query: Float[Tensor, "*B T H"],
        memory: Memory,
        t: Int[Tensor, "*#B T"],
        coverage: Float[Tensor, "*B T S"] | None,
    ) -> tuple[Float[Tensor, "*B T M"], Alignment]:
        contexts, alignment = super().attend(query, memory, t, coverage)
        forced = self.table[t.clamp(max=self.table.shape[0] - 1)].expand(contexts.shape[:-1]).unsqueeze(-1)
        position = forced.clamp(min=0)
        weights = alignment.dense(memory.values.shape[-2])
        weights = torch.where(forced < 0, weights, torch.zeros_like(weights).scatter(-1, position, 1.0))
        values = memory.values.gather(-2, position.expand_as(contexts))
        return torch.where(forced < 0, contexts, values), Alignment(weights, None)


def forcing(model: Seq2Seq, positions: Mapping[int, int]) -> Seq2Seq:
    """The same model, whose attention is forced onto source positions at some target positions.

    `positions` maps target positions to source positions, both from 0. It shares all its layers. Raises `ValueError` if
    it has no attention.
    """
    table = torch.full((max(positions, default=-1) + 2,), -1)
    for t, s in positions.items():
        table[t] = s
    return forced_by(model, table.to(model.device))


def forced_by(model: Seq2Seq, table: Int[Tensor, " L"]) -> Seq2Seq:
    """The same from a table: of each target position a source position, or −1 for attention as it is.

    The table's last one is that of all later target positions, too.
    """
    attention = model.decoder.attention
    if not isinstance(attention, Attention):
        raise ValueError("this model has no attention that could be forced")
    if attention.coverage and attention.score.coverage is None:
        raise UserError("monotonic attention cannot be forced: leave that out (nmt explain: --forced 0)")
    return with_child(model, "decoder", with_child(model.decoder, "attention", ForcedAttention(attention, table)))
