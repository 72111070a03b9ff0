"""One model, or several that translate as one. To search their states and memories are opaque, batch-first tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TypeAlias, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.attention import Memory
from nmt.model.decoder import DecoderState
from nmt.model.seq2seq import Seq2Seq

States: TypeAlias = tuple[DecoderState, ...]
Memories: TypeAlias = tuple[Memory, ...]
Parent = TypeVar("Parent", bound=nn.Module)


class Ensemble(nn.Module):
    """p(y_t | …) = 1/n Σ p_i(y_t | …) of n models, which share both vocabularies (Sutskever et al. 2014, section 3.6).

    Its methods are those of `Seq2Seq`; its states and memories are tuples of theirs.
    """

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.eval()  # it is for search only

    @property
    def device(self) -> torch.device:
        return self.members[0].device

    @property
    def has_attention(self) -> bool:
        return any(model.has_attention for model in self.members)

    @property
    def segment_ends(self) -> tuple[int, ...]:
        ends = {model.segment_ends for model in self.members if model.has_attention}
        return ends.pop() if len(ends) == 1 else ()  # none unless all agree

    @property
    def members(self) -> list[Seq2Seq]:
        return list(self.models)  # type: ignore[arg-type]  # nn.ModuleList

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[States, Memories]:
        states, memories = zip(*(model.encode(source, source_lengths) for model in self.members), strict=True)
        return states, memories

    def step(self, tokens: Int[Tensor, " N"], state: States, memory: Memories) -> tuple[Float[Tensor, "N V"], States]:
        members = zip(self.members, state, memory, strict=True)
        log_probabilities, states = zip(*(model.step(tokens, s, m) for model, s, m in members), strict=True)
        return torch.stack(log_probabilities).logsumexp(dim=0) - math.log(len(states)), states

    def attention_weights(self, tokens: Int[Tensor, "B T"], state: States, memory: Memories) -> Float[Tensor, "B T S"]:
        """The mean of the attention weights while target tokens, BOS first, are read, over the models that have any."""
        members = zip(self.members, state, memory, strict=True)
        weights = [model.attention_weights(tokens, s, m) for model, s, m in members if model.has_attention]
        return torch.stack(weights).mean(dim=0)


TranslationModel: TypeAlias = Seq2Seq | Ensemble


@contextmanager
def without_dropout(model: TranslationModel) -> Iterator[None]:
    """The model in evaluation mode, and afterwards in the mode that it was in."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def with_child(parent: Parent, name: str, child: nn.Module) -> Parent:
    """A shallow copy of a module with another child of that name. It shares its other children."""
    other = copy(parent)
    other._modules = {**parent._modules, name: child}
    return other
