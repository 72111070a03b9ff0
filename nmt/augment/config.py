"""The config section `data.augment`."""

from __future__ import annotations

from typing import Any

from nmt.registry import Fraction, PathString, Section
from nmt.text.tokenizers import TOKENIZERS


class AugmentConfig(Section):
    """Augmentation of the training data, anew in each epoch, and monolingual text for subwords and vocabulary."""

    typos: Fraction | None = None
    """The probability of each of these changes to a source sentence: lower case; capitals; in German, ae, oe, ue and
    ss for ä, ö, ü and ß; other punctuation (in equal shares without the last mark, without any, or with !, !!, !!! or
    ... at its end). So the model learns to read what people type."""
    copying: Fraction | None = None
    """The share of training pairs in which a word and its translation are both replaced by the same made-up name or
    number, so that the model learns to copy unknown words."""
    source_monolingual: PathString | None = None
    """More text in the source language: a file, or `multi30k_descriptions`, five captions of each of Multi30k's
    training images. Subwords and vocabulary are learnt from it, too. Lines that equal, lower-cased, a line of the
    validation set or of a test set are left out. `nmt back-translate` makes training pairs of such text."""
    target_monolingual: PathString | None = None
    """The same in the target language."""

    def check(self, data: Any) -> None:
        """Raise ValueError for values that do not fit the other fields of `data`."""
        learns = TOKENIZERS[data.source.tokenizer].learns
        if self.typos is not None and not learns:
            raise ValueError(
                f"augment.typos: with {data.source.tokenizer}, misspelt words would be unknown (<unk>); set "
                "source.tokenizer to sentencepiece or sentencepiece_cased, or augment.typos to null"
            )
        if self.copying is not None and not (data.joint_vocabulary and learns):
            raise ValueError(
                "augment.copying: what is copied must be the same subwords on both sides; set joint_vocabulary to true "
                "and both tokenizers to sentencepiece or sentencepiece_cased, or augment.copying to null"
            )
