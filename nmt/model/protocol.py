"""What search and translation need of a model, be it one or several that decide together."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


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

    def log_probabilities(self, tokens: Int[Tensor, " N"], state: Any, memory: Any) -> tuple[Float[Tensor, "N V"], Any]:
        """Log-probabilities of each hypothesis' next token, given its last one; and the new state."""

    def weights(self, tokens: Int[Tensor, "B T"], state: Any, memory: Any) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""

    def eval(self) -> Any:
        """Turn dropout off."""

    def train(self, mode: bool = True) -> Any:
        """Turn dropout on, or off."""
