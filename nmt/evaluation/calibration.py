"""Below which score a translation is unlike those of the text that a model was trained on.

A model writes fluent sentences for any text. What tells text of another kind is how probable it finds its own words:
the score here is the mean log-probability of a translation's tokens, in nats. `Translator` compares it with a
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt.data.batching import Example
from nmt.decoding.scoring import score
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS_TOKEN
from nmt.translator import Translator

BATCH = 64  # pairs
FEWEST = 20  # sentences, for a quantile to mean anything


class Calibration(NamedTuple):
    """A threshold, and the shares of translations that lie below it: of the model's own, and beside other sentences."""

    threshold: float
    own: float
    shuffled: float


def calibrate(translator: Translator, sources: Sequence[str], share: float) -> Calibration:
    """The score below which a `share` of the translations of some sentences lies, checked against shuffled pairs.

    `sources` are of the kind that the model was trained on, but not those themselves. In a shuffled pair each
    translation stands beside another one's sentence.

    Raises `UserError` for fewer than `FEWEST` sentences, and if the threshold does not tell shuffled pairs from others.
    """
    kept = [
        (source, each) for source, each in zip(sources, _translations(translator, sources), strict=True) if each.text
    ]
    if len(kept) < FEWEST:
        raise UserError(f"{len(kept)} sentences with a translation are too few to learn from: give at least {FEWEST}")
    own = np.array([each.mean_log_probability for _, each in kept])
    others = [source for source, _ in [*kept[1:], kept[0]]]
    shuffled = np.array(forced_scores(translator, others, [each.tokens for _, each in kept]))
    threshold = float(np.quantile(own, share))
    found = Calibration(threshold, float((own < threshold).mean()), float((shuffled < threshold).mean()))
    if found.shuffled < 0.5:
        raise UserError(
            f"only {found.shuffled:.0%} of shuffled pairs score below {threshold:.2f}: this model cannot tell which "
            "sentence a translation belongs to; train it longer, or raise --share"
        )
    return found


def forced_scores(translator: Translator, sources: Sequence[str], targets: Sequence[Sequence[str]]) -> list[float]:
    """The mean log-probability, in nats, of target tokens (`<eos>` may end them) beside source sentences."""
    tokens = ([token for token in each if token != EOS_TOKEN] for each in targets)
    ids = map(translator.target.vocabulary.encode, tokens)
    pairs = [Example(translator.source.encode(s), own) for s, own in zip(sources, ids, strict=True)]
    return [each.log_probability / each.tokens for each in score(translator.model, pairs, BATCH)]


def _translations(translator: Translator, sources: Sequence[str]) -> list[Translation]:
    return translator.translate(list(sources), attention=False)
