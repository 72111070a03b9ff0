"""A model as searches use it, laid out once for all of them."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from nmt.kernels import in_use
from nmt.kernels.packed import packed
from nmt.model.protocol import TranslationModel


class LaidOut:
    """A model's forms for search, each of which is made when it is first asked for.

    To lay a model out takes as long as some steps of a search. The forms do not follow later changes of the weights, of
    their type or of their device. `always` are the types that every choice holds, for forms `with_remainder`.
    """

    def __init__(self, model: TranslationModel, always: Int[Tensor, " M"] | None = None) -> None:
        self.model = model
        self._always = always
        self._packed: dict[tuple[str, str, bool], TranslationModel] = {}
        self._forms: dict[tuple[str, str, bool, bool], tuple[bool, TranslationModel]] = {}

    def for_search(self, precision: str, rows: int, beam_size: int, *, choosing: bool = False) -> TranslationModel:
        """The model packed for a precision, and `TranslationModel.for_search`. One made for a long search serves all.

        With `choosing`, the search is among the types of a choice.
        """
        kind = in_use(), precision, choosing and self._always is not None
        ready, form = self._ready(*kind), (*kind, beam_size > 1)
        long = ready.is_long(rows)
        if form not in self._forms or (long and not self._forms[form][0]):
            self._forms[form] = long, self._without_dropout(ready, rows, beam_size)
        _, found = self._forms[form]
        found.train(self.model.training)  # it may share layers with the model, whose mode may have changed
        return found

    def _ready(self, kernels: str, precision: str, estimating: bool) -> TranslationModel:
        """The packed model, also `with_remainder`: both share their layers."""
        kind = kernels, precision, estimating
        if kind not in self._packed and estimating:
            assert self._always is not None
            model = self._ready(kernels, precision, estimating=False)
            with torch.autocast(self.model.device.type, enabled=False):
                self._packed[kind] = model.with_remainder(self._always)
        elif kind not in self._packed:
            self._packed[kind] = packed(self.model, precision)
        return self._packed[kind]

    def _without_dropout(self, ready: TranslationModel, rows: int, beam_size: int) -> TranslationModel:
        training = self.model.training
        ready.eval()
        try:
            return ready.for_search(rows, beam_size)
        finally:
            ready.train(training)
