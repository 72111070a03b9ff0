"""The config section `data.augment`."""

from __future__ import annotations

from typing import Any

from nmt.registry import Fraction, PathString, Section
from nmt.text.tokenizers import TOKENIZERS


class AugmentConfig(Section):
    """Augmentation of the training data, new in each epoch, and monolingual text for subwords and vocabulary."""

    typos: Fraction | None = None
    """The probability of each of these changes to a source sentence: lower case; capitals; in German, ae, oe, ue and ss
    for ä, ö, ü and ß; no mark at the end, no punctuation, or !, !!, !!! or ... at the end."""
    copying: Fraction | None = None
    """The share of training pairs in which a word and its translation are replaced by the same made-up name or number.
    This teaches the model to copy unknown words."""
    source_monolingual: PathString | None = None
    """Text from which subwords and vocabulary are learnt, too: a file, or `multi30k_descriptions`, five captions of
    each of Multi30k's training images. Lines of validation and test sets (compared in lower case) are left out.
    `nmt back-translate` makes training pairs of such text."""
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
