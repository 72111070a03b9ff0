"""Two thresholds, beyond which a translation is unlike those of the text that a model was trained on.

One is for the mean log-probability of the translation's tokens, in nats, the other for how rare the words of the source
text are (`Codec.rarity`). `Translator` compares both. The add-on for alignment fits those of omitted and added words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nmt import addons
from nmt.checkpoint.contents import set_thresholds
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

FEWEST = 20  # sentences, for a quantile to mean anything
MOST = 2000  # sentences that `store_thresholds` translates
SHARE = 0.02  # of translations like the training text that lie beyond each threshold


def calibrate(translator: Translator, sources: Sequence[str], share: float) -> tuple[float, float]:
    """The two thresholds beyond each of which a `share` of the sentences lies, checked against shuffled pairs.

    `sources` are of the kind that the model was trained on, but not training sentences. In a shuffled pair a
    translation stands beside another one's source. Raises `UserError` for fewer than `FEWEST` sentences, and if most
    shuffled pairs are likelier than the threshold.
    """
    translations = [t for t in translator.translate(sources, attention=False) if t.text]
    if len(translations) < FEWEST:
        raise UserError(
            f"{len(translations)} sentences with a translation are too few to fit to: give at least {FEWEST}"
        )
    next_sources = [t.source for t in translations[1:] + translations[:1]]
    forced = translator.score(next_sources, [t.text for t in translations])
    shuffled = np.array([score.log_probability / score.tokens for score in forced])
    threshold = float(np.quantile([t.mean_log_probability for t in translations], share))
    rarity_threshold = float(np.quantile([t.source_rarity for t in translations], 1 - share))
    if (below := float((shuffled < threshold).mean())) < 0.5:
        raise UserError(f"only {below:.0%} of shuffled pairs score below {threshold:.2f}: train the model longer")
    return threshold, rarity_threshold


def store_thresholds(path: Path, translator: Translator, text: ParallelText) -> str:
    """Fit thresholds and store them in the translator's checkpoint. Returns a line: which, or why none."""
    try:
        threshold, rarity_threshold = calibrate(translator, text.source[:MOST], SHARE)
    except UserError as error:
        return f"nmt translate cannot warn of text unlike the training text: {error}"
    words = room.fitted(translator, text) if (room := addons.offered("missing_words")) else None
    set_thresholds(path, path, threshold, rarity_threshold, word_thresholds=words)
    limits = f"below {threshold:.3f} nats per token, or rarer than {rarity_threshold:.3f} per character"
    return f"nmt translate will warn of text unlike the training text: {limits}"
