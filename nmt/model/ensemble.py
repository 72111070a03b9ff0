"""Several models that translate as one: at each step the mean of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.model.attention import Memory
from nmt.model.decoder import State
from nmt.model.protocol import Choice
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
        return self._all[0].device

    @property
    def has_attention(self) -> bool:
        """Whether any of them has."""
        return any(model.has_attention for model in self._all)

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment; none unless all that have attention agree on them."""
        each = {model.segment_ends for model in self._all if model.has_attention}
        return each.pop() if len(each) == 1 else ()

    @property
    def _all(self) -> list[Seq2Seq]:
        return list(self.models)  # type: ignore[arg-type]  # nn.ModuleList forgets what it holds

    def encode(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[tuple[State, ...], tuple[Memory, ...]]:
        """The initial states and the memories of all models."""
        states, memories = zip(*(model.encode(source, source_lengths) for model in self._all), strict=True)
        return states, memories

    def log_probabilities(
        self,
        tokens: Int[Tensor, " N"],
        state: tuple[State, ...],
        memory: tuple[Memory, ...],
        choice: Choice | None = None,
    ) -> tuple[Float[Tensor, "N V"], tuple[State, ...]]:
        """Of each hypothesis' next token, among all types or those of a choice, from its last one; and the states."""
        members = zip(self._all, state, memory, strict=True)
        each, states = zip(*(model.log_probabilities(tokens, s, m, choice) for model, s, m in members), strict=True)
        return torch.stack(each).logsumexp(dim=0) - math.log(len(each)), states

    def is_long(self, rows: int) -> bool:
        """Whether any of them should first compute its decoder's input of every type."""
        return any(model.is_long(rows) for model in self._all)

    def for_search(self, rows: int, beam_size: int) -> Ensemble:
        """The same models for a search that reads about so many target tokens, in so many hypotheses of a sentence."""
        return Ensemble([model.for_search(rows, beam_size) for model in self._all])

    def with_remainder(self, always: Int[Tensor, " M"]) -> Ensemble:
        """The same models, each of which estimates how likely the types are that a choice leaves out."""
        return Ensemble([model.with_remainder(always) for model in self._all])

    def limited(self, types: Int[Tensor, " V"], shared: int) -> Ensemble:
        """The same models, whose output layers know only these target types, of which all sentences share the first."""
        return Ensemble([model.limited(types, shared) for model in self._all])

    def weights(
        self, tokens: Int[Tensor, "B T"], state: tuple[State, ...], memory: tuple[Memory, ...]
    ) -> Float[Tensor, "B T S"]:
        """The mean of the attention weights while target tokens, BOS first, are read, over the models that have any."""
        members = zip(self._all, state, memory, strict=True)
        return torch.stack([model.weights(tokens, s, m) for model, s, m in members if model.has_attention]).mean(dim=0)
