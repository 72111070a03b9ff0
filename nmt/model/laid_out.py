"""A model as searches use it, laid out once for all of them."""

from __future__ import annotations

from nmt.kernels import in_use
from nmt.kernels.packed import packed
from nmt.model.protocol import TranslationModel


class LaidOut:
    """A model's forms for search, each of which is made when it is first asked for.

    To lay a model out takes as long as some steps of a search. The forms do not follow later changes of the weights.
    """

    def __init__(self, model: TranslationModel) -> None:
        self.model = model
        self._packed: dict[tuple[str, str], TranslationModel] = {}
        self._for_search: dict[tuple[str, str, bool], tuple[int, TranslationModel]] = {}

    def for_search(self, precision: str, rows: int, beam_size: int) -> TranslationModel:
        """The model packed for a precision, and `for_search` of so many rows; what was made for more serves fewer."""
        kernels = in_use(), precision
        if kernels not in self._packed:
            self._packed[kernels] = packed(self.model, precision)
        form = *kernels, beam_size > 1
        most, found = self._for_search.get(form, (-1, self.model))
        if rows > most:
            found = self._without_dropout(self._packed[kernels], rows, beam_size)
            self._for_search[form] = rows, found
        found.train(self.model.training)  # it may share layers with the model
        return found

    def _without_dropout(self, ready: TranslationModel, rows: int, beam_size: int) -> TranslationModel:
        training = self.model.training
        ready.eval()
        try:
            return ready.for_search(rows, beam_size)
        finally:
            ready.train(training)
