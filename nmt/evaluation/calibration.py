"""The score below which a translation is unlike those of the text that a model was trained on.

The score is the mean log-probability of a translation's tokens, in nats. `Translator` compares it with a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt.checkpoint.contents import set_threshold
from nmt.data.batching import Example
from nmt.decoding.scoring import score
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS_TOKEN
from nmt.translator import Translator

BATCH = 64  # pairs
FEWEST = 20  # sentences, for a quantile to mean anything
MOST = 2000  # sentences that `store_threshold` translates
SHARE = 0.02  # of translations like the training text that lie below the threshold


class Calibration(NamedTuple):
    """A threshold, and the fractions of translations below it: beside their own source, and beside another's."""

    threshold: float
    matched: float
    shuffled: float


def calibrate(translator: Translator, sources: Sequence[str], share: float) -> Calibration:
    """The score below which a `share` of the sentences' translations lies, checked against shuffled pairs.

    `sources` are of the kind that the model was trained on, but not training sentences. In a shuffled pair a
    translation stands beside another one's source. Raises `UserError` for fewer than `FEWEST` sentences, and if most
    shuffled pairs lie above the threshold.
    """
    sources = [source for source in sources if source.strip()]
    translations = translator.translate(sources, attention=False) if len(sources) >= FEWEST else []
    pairs = [(source, t) for source, t in zip(sources, translations, strict=False) if t.text]
    if len(pairs) < FEWEST:
        raise UserError(f"{len(pairs)} sentences with a translation are too few to fit to: give at least {FEWEST}")
    scores = np.array([t.mean_log_probability for _, t in pairs])
    next_sources = [source for source, _ in [*pairs[1:], pairs[0]]]
    shuffled = np.array(forced_scores(translator, next_sources, [t.tokens for _, t in pairs]))
    threshold = float(np.quantile(scores, share))
    result = Calibration(threshold, float((scores < threshold).mean()), float((shuffled < threshold).mean()))
    if result.shuffled < 0.5:
        raise UserError(
            f"only {result.shuffled:.0%} of shuffled pairs score below {threshold:.2f}: the score does not show which "
            "source a translation belongs to; train the model longer"
        )
    return result


def store_threshold(path: Path, translator: Translator, sources: Sequence[str]) -> str:
    """Fit a threshold and store it in the translator's checkpoint. Returns a line: which, or why none."""
    try:
        threshold = calibrate(translator, sources[:MOST], SHARE).threshold
    except UserError as error:
        return f"nmt translate cannot warn of text unlike the training text: {error}"
    set_threshold(path, path, threshold)
    return f"nmt translate will warn of text unlike the training text: below {threshold:.3f} nats per token"


def forced_scores(translator: Translator, sources: Sequence[str], targets: Sequence[Sequence[str]]) -> list[float]:
    """The mean log-probability, in nats, of target tokens (`<eos>` may end them) beside source sentences."""
    encode = translator.target.vocabulary.encode
    ids = (encode([token for token in tokens if token != EOS_TOKEN]) for tokens in targets)
    examples = [Example(translator.source.encode(s), target) for s, target in zip(sources, ids, strict=True)]
    return [result.log_probability / result.tokens for result in score(translator.model, examples, BATCH)]
