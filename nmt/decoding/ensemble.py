"""Several models that translate as one: at each step the mean of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.attention import Memory
from nmt.model.decoder import DecoderState
from nmt.model.seq2seq import Seq2Seq


class Ensemble(nn.Module):
    """p(y_t | …) = 1/n Σ p_i(y_t | …) of n models, which share both vocabularies (Sutskever et al. 2014, section 3.6).

    A `TranslationModel`; its states and memories are tuples of theirs.
    """

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.eval()  # it is for search only

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.members[0].device

    @property
    def has_attention(self) -> bool:
        """Whether any of them has."""
        return any(model.has_attention for model in self.members)

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment; none unless all that have attention agree on them."""
        ends = {model.segment_ends for model in self.members if model.has_attention}
        return ends.pop() if len(ends) == 1 else ()

    @property
    def members(self) -> list[Seq2Seq]:
        return list(self.models)  # type: ignore[arg-type]  # nn.ModuleList

    def encode(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[tuple[DecoderState, ...], tuple[Memory, ...]]:
        """The initial states and the memories of all models."""
        states, memories = zip(*(model.encode(source, source_lengths) for model in self.members), strict=True)
        return states, memories

    def step(
        self, tokens: Int[Tensor, " N"], state: tuple[DecoderState, ...], memory: tuple[Memory, ...]
    ) -> tuple[Float[Tensor, "N V"], tuple[DecoderState, ...]]:
        """The log-probabilities of each hypothesis' next token, from its last one; and the new states."""
        members = zip(self.members, state, memory, strict=True)
        log_probabilities, states = zip(*(model.step(tokens, s, m) for model, s, m in members), strict=True)
        return torch.stack(log_probabilities).logsumexp(dim=0) - math.log(len(states)), states

    def attention_weights(
        self, tokens: Int[Tensor, "B T"], state: tuple[DecoderState, ...], memory: tuple[Memory, ...]
    ) -> Float[Tensor, "B T S"]:
        """The mean of the attention weights while target tokens, BOS first, are read, over the models that have any."""
        members = zip(self.members, state, memory, strict=True)
        weights = [model.attention_weights(tokens, s, m) for model, s, m in members if model.has_attention]
        return torch.stack(weights).mean(dim=0)
