"""What `data.augment` does to training data: the core's hook (`nmt.data.augmentation`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from nmt.augment.config import AugmentConfig
from nmt.augment.copying import Copying
from nmt.augment.monolingual import Monolingual, load_monolingual
from nmt.augment.typos import with_typos
from nmt.data.augmentation import Augmentation
from nmt.data.batching import Example
from nmt.data.store import Rows
from nmt.system.errors import prefix_errors_with
from nmt.text.codec import Codec

SIDES = ("source", "target")


class ConfiguredAugmentation(Augmentation):
    """The augmentation that `data.augment` sets."""

    _copying: Copying | None = None

    @property
    def section(self) -> AugmentConfig:
        section = self.config.augment
        assert isinstance(section, AugmentConfig)
        return section

    def drawn_fields(self, side: str) -> list[str]:
        fields = ("typos", "copying") if side == "source" else ("copying",)
        return [f"data.augment.{field}" for field in fields if getattr(self.section, field) is not None]

    def texts(self) -> tuple[Monolingual | None, Monolingual | None]:
        source, target = map(self._text, SIDES)
        return source, target

    def _text(self, side: str) -> Monolingual | None:
        name, language = getattr(self.section, f"{side}_monolingual"), getattr(self.config, side).language
        with prefix_errors_with(f"data.augment.{side}_monolingual: "):
            return None if name is None else load_monolingual(name, language, self.config)

    def replace(
        self, pairs: list[Example], draw: str, codec: Codec, corpus: Callable[[], Sequence[Rows]]
    ) -> list[Example]:
        if (probability := self.section.typos) is not None:
            chance, language = Random(f"{draw} source"), self.config.source.language
            chance.getrandbits(32)  # as version 0.3 did, so that a seed gives what it gave there
            lines = [with_typos(codec.decode(pair.source), language, probability, chance) for pair in pairs]
            pairs = [Example(codec.encode(line), pair.target) for line, pair in zip(lines, pairs, strict=True)]
        share = self.section.copying
        if share is None:
            return pairs
        if self._copying is None:
            self._copying = Copying(codec, *corpus())
        chance = Random(f"{draw} copying")
        return [self._copying.replaced(pair, chance) if chance.random() < share else pair for pair in pairs]
