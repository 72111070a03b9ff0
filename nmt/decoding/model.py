"""What search and translation need of a model: one, or several that translate as one."""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Parent = TypeVar("Parent", bound=nn.Module)


@runtime_checkable
class TranslationModel(Protocol):
    """p(target | source), one target token at a time. `Seq2Seq` and `Ensemble` are such models.

    States and memories are opaque: tuples, perhaps nested, of tensors whose first dimension is that of the hypotheses,
    or of the sentences, so that a beam can reorder them.

    Shapes: B sentences, S source positions, T target positions, N hypotheses of all sentences, V vocabulary.
    """

    training: bool

    @property
    def device(self) -> torch.device:
        """Where the weights are."""

    @property
    def has_attention(self) -> bool:
        """Whether `attention_weights` can be called."""

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment of the source; none if attention has no segments."""

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[Any, Any]:
        """The first state and the memory of padded source ids."""

    def step(self, tokens: Int[Tensor, " N"], state: Any, memory: Any) -> tuple[Float[Tensor, "N V"], Any]:
        """Log-probabilities of each hypothesis' next token, given its last one; and the new state."""

    def attention_weights(self, tokens: Int[Tensor, "B T"], state: Any, memory: Any) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""

    def eval(self) -> Any:
        """Turn dropout off."""

    def train(self, mode: bool = True) -> Any:
        """Turn dropout on, or off."""


def with_child(parent: Parent, name: str, child: nn.Module) -> Parent:
    """A shallow copy of a module with another child of that name. It shares its other children."""
    other = copy(parent)
    other._modules = {**parent._modules, name: child}
    return other
