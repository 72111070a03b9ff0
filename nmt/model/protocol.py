"""What search and translation need of a model, be it one or several that decide together."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor


class Choice(NamedTuple):
    """The C types that may occur in each sentence's translation. Batch-first, so that search can select sentences.

    First come those that all sentences share, which are the first outputs of a `limited` layer, then a sentence's own,
    at `places` in that layer. PAD's place fills up. `chosen` counts the different types.
    """

    places: Int[Tensor, "B P"]
    chosen: Int[Tensor, " B"]

    def of(self, logits: Num[Tensor, "_ V"], shared: int) -> Float[Tensor, "_ C"]:
        """The chosen logits of each sentence's N/B rows, which are neighbours. A single row is that of every sentence.

        The first `shared` ones are chosen for all sentences.
        """
        if len(logits) == 1:
            logits = logits.expand(len(self.places), -1)
        rows = logits.unflatten(0, (len(self.places), -1))
        own = rows.gather(2, self.places.unsqueeze(1).expand(-1, rows.shape[1], -1))
        chosen = torch.cat([rows[:, :, :shared], own], dim=2).flatten(0, 1)
        return chosen.to(torch.promote_types(chosen.dtype, torch.float32))


@runtime_checkable
class TranslationModel(Protocol):
    """p(target | source), one target token at a time. `Seq2Seq` and `Ensemble` are such models.

    Its states and memories are its own affair: tuples, perhaps nested, of tensors whose first dimension is that of the
    hypotheses, or of the sentences, so that a beam can reorder them.

    Shapes: B sentences, S source positions, T target positions, N hypotheses of all sentences, V vocabulary.
    """

    training: bool

    @property
    def device(self) -> torch.device:
        """Where the weights are."""

    @property
    def has_attention(self) -> bool:
        """Whether `weights` means anything."""

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment of the source; none if attention knows no segments."""

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[Any, Any]:
        """The first state and the memory of padded source ids."""

    def log_probabilities(
        self, tokens: Int[Tensor, " N"], state: Any, memory: Any, choice: Choice | None = None
    ) -> tuple[Float[Tensor, "N V"], Any]:
        """Log-probabilities of each hypothesis' next token, given its last one; and the new state.

        With a choice, only those of the C chosen types (N C). Their probabilities add up to 1; after `with_remainder`,
        to an estimate of the share that these types have among all.
        """

    def is_long(self, rows: int) -> bool:
        """Whether a search that reads so many target tokens should first compute the decoder's input of every type.

        That pays if the tokens are at least twice the target types, and if the table is not too large.
        """

    def for_search(self, rows: int, beam_size: int) -> TranslationModel:
        """The same model for a search that will read about so many target tokens, in so many hypotheses of a sentence.

        If it `is_long`, the decoder's input for every type is computed once, and then looked up, and packed layers are
        laid out at once, for copies of this process. With several hypotheses, memory vectors are projected
        (`Decoder.projecting`). The copy does not follow later changes of the weights.
        """

    def with_remainder(self, always: Int[Tensor, " M"]) -> TranslationModel:
        """The same model, which estimates how likely the types are that a choice leaves out (`Remainder`).

        `always` are types that every choice holds. The copy does not follow later changes of the output layer.
        """

    def limited(self, types: Int[Tensor, " V"], shared: int) -> TranslationModel:
        """The same model, whose output layer knows these target types, in this order. It shares its other layers.

        The first `shared` types are chosen for all sentences. They begin with `SPECIALS`, of which PAD and BOS are
        never written. Only for `log_probabilities` with a choice: the layer may have more outputs (see `with_outputs`).
        """

    def weights(self, tokens: Int[Tensor, "B T"], state: Any, memory: Any) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""

    def eval(self) -> Any:
        """Turn dropout off."""

    def train(self, mode: bool = True) -> Any:
        """Turn dropout on, or off."""
