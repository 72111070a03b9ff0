"""Which of some languages a text is in, with a confidence."""

from __future__ import annotations

import math
from collections.abc import Collection

from nmt.text.language import ranked


def detect(text: str, languages: Collection[str]) -> list[tuple[str, float]]:
    """The languages with their probabilities in percent, likeliest first: py3langid's, if there are no others.

    Languages that it does not recognise are missing.
    """
    scores = {name: float(score) for name, score in ranked(text) if name in languages}
    best = max(scores.values(), default=0.0)
    weights = {name: math.exp(score - best) for name, score in scores.items()}
    total = sum(weights.values())
    return sorted(((name, round(100 * w / total, 1)) for name, w in weights.items()), key=lambda pair: -pair[1])
