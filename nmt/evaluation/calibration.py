"""Below which score a translation is unlike those of the text that a model was trained on.

A model writes fluent sentences for any text. What tells text of another kind is how probable it finds its own words:
the score here is the mean log-probability of a translation's tokens, in nats. `Translator` compares it with a
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from nmt.data.batching import Example, collate
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS_TOKEN
from nmt.translation import Translation
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
            f"only {found.shuffled:.0%} of shuffled pairs score below {threshold:.2f}: this model does not tell which "
            "sentence a translation belongs to; train it longer, or raise --share"
        )
    return found


def forced_scores(translator: Translator, sources: Sequence[str], targets: Sequence[Sequence[str]]) -> list[float]:
    """The mean log-probability, in nats, of target tokens (`<eos>` may end them) beside source sentences."""
    model = translator.model
    vocabulary = translator.target.vocabulary
    scores: list[float] = []
    for begin in range(0, len(sources), BATCH):
        part = slice(begin, begin + BATCH)
        ids = [vocabulary.encode(token for token in tokens if token != EOS_TOKEN) for tokens in targets[part]]
        batch = collate([Example(translator.source.encode(s), t) for s, t in zip(sources[part], ids, strict=True)])
        with torch.inference_mode():
            state, memory = model.encode(batch.source.to(model.device), batch.source_lengths)
            sums = torch.zeros(len(ids), device=model.device)
            for place, tokens in enumerate(batch.target_input.to(model.device).unbind(dim=1)):
                log_probabilities, state = model.log_probabilities(tokens, state, memory)
                wanted = batch.target_output[:, place].to(model.device)
                gained = log_probabilities.gather(1, wanted.unsqueeze(1)).squeeze(1).float()
                sums += gained.where((place < batch.target_lengths).to(model.device), torch.zeros_like(gained))
        scores += (sums.cpu() / batch.target_lengths).tolist()
    return scores


def _translations(translator: Translator, sources: Sequence[str]) -> list[Translation]:
    return translator.translate(list(sources), attention=False)
