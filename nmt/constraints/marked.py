"""Translations of texts with markup and mnemonics: both leave a text, it is translated, and both return."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

from nmt.constraints import mnemonics
from nmt.constraints.markup import parse, transfer
from nmt.decoding.translation import Translation
from nmt.decoding.word_alignment import Link
from nmt.system.errors import UserError
from nmt.system.values import sentences_of
from nmt.text.limits import check_unicode


@dataclass(frozen=True)
class MarkedTranslation(Translation):
    """A translation with markup in its `text`. All else is that of `plain`, the translation of the text without it."""

    plain: Translation | None = None

    @property
    def alignment(self) -> tuple[Link, ...] | None:
        """The links between the words of the plain texts."""
        return self.plain.alignment if self.plain is not None else super().alignment


class Marking:
    """What was taken out of texts; `texts` are what is left to translate.

    `marker` is that of mnemonics, one of `mnemonics.CHOICES`, or None for none. Raises `UserError` for another one.
    """

    def __init__(self, sentences: Iterable[str], markup: bool, marker: str | None) -> None:
        [texts] = sentences_of("translate", sentences)
        check_unicode(texts)
        if marker not in (None, *mnemonics.CHOICES):
            raise UserError(f"mnemonics: {marker!r} is no marker: give one of {', '.join(mnemonics.CHOICES)}")
        self._markup = [parse(text) if markup else None for text in texts]
        plain = [text if one is None else one.text for text, one in zip(texts, self._markup, strict=True)]
        stripped = [mnemonics.strip(text, marker) if marker else (text, None) for text in plain]
        self.texts, self._mnemonics = [text for text, _ in stripped], [mnemonic for _, mnemonic in stripped]

    def restored(self, number: int, translation: Translation) -> Translation:
        """The translation of a text, and its n best, with what was taken out."""
        text, mnemonic, markup = translation.text, self._mnemonics[number], self._markup[number]
        if mnemonic is not None:
            text = mnemonics.insert(text, mnemonic, translation.alignment or ())
        if markup is not None:
            text = transfer(markup, text, translation.word_weights)
        values = {field.name: getattr(translation, field.name) for field in fields(Translation)}
        values |= {"text": text, "n_best": tuple(self.restored(number, other) for other in translation.n_best)}
        return MarkedTranslation(**values, plain=translation)

    def translate(
        self,
        translate: Callable[..., list[Translation]],
        *,
        attention: bool = True,
        found: Callable[[int, Translation], None] | None = None,
    ) -> list[Translation]:
        """What `translate` makes of `texts`, with what was taken out of them."""
        restored: dict[int, Translation] = {}

        def restore(number: int, translation: Translation) -> None:
            translation = self.restored(number, translation)
            restored[number] = translation if attention else without_attention(translation)
            if found is not None:
                found(number, restored[number])

        translate(self.texts, found=restore)
        return [restored[number] for number in range(len(self.texts))]


def without_attention(translation: Translation) -> Translation:
    """The translation as it is without attention, which was needed to place markup."""
    n_best, sentences = (tuple(map(without_attention, some)) for some in (translation.n_best, translation.sentences))
    return replace(translation, attention=None, n_best=n_best, sentences=sentences)
