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

    def rewrites(self, side: str) -> bool:
        return side == "source" and self.section.typos is not None

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

    def rewrite(self, lines: list[str], side: str, chance: Random) -> list[str]:
        probability = self.section.typos
        if probability is None or side != "source":
            return lines
        return [with_typos(line, self.config.source.language, probability, chance) for line in lines]

    def replace(
        self, pairs: list[Example], draw: str, codec: Codec, corpus: Callable[[], Sequence[Rows]]
    ) -> list[Example]:
        share = self.section.copying
        if share is None:
            return pairs
        if self._copying is None:
            self._copying = Copying(codec, *corpus())
        chance = Random(f"{draw} copying")
        return [self._copying.replaced(pair, chance) if chance.random() < share else pair for pair in pairs]
