"""The hook for augmentation: what an add-on does to training data. Without the add-on nothing is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nmt import addons
from nmt.config.data import DataConfig
from nmt.data.batching import Example
from nmt.data.store import Rows
from nmt.text.codec import Codec


class Augmentation:
    """No augmentation, and the base class of an add-on's."""

    def __init__(self, config: DataConfig) -> None:
        self.config = config

    def drawn_fields(self, side: str) -> list[str]:
        """The config fields that bring up subwords of a side which its text as it is need not have."""
        return []

    def texts(self) -> tuple[Any, Any]:
        """Text of each side, or None, from which subwords and vocabularies are learnt, too.

        They can be read more than once; `paths` and `held_out` decide them. Raises `UserError` if it cannot be read.
        """
        return None, None

    def replace(
        self, pairs: list[Example], draw: str, codec: Codec, corpus: Callable[[], Sequence[Rows]]
    ) -> list[Example]:
        """Pairs as one epoch reads them, by `draw` alone. `codec` is that of the source, `corpus()` all of the text."""
        return pairs


def augmentation_of(config: DataConfig) -> Augmentation:
    """The augmentation that a config asks for."""
    if any(value is not None for _, value in config.augment):
        augmentation: Augmentation = addons.offered("augmentation").ConfiguredAugmentation(config)
        return augmentation
    return Augmentation(config)
