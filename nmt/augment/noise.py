"""Noise for translations that a model learns to read: words are lost and change places (Lample et al. 2018)."""

from __future__ import annotations

from random import Random

FARTHEST = 3  # places that a word moves by at most


def noisy(text: str, loss: float) -> str:
    """A text in which each word is left out with probability `loss`, and the others move by up to `FARTHEST` places.

    Of all words at least one stays. The order is that of i + u, with i a word's place and u drawn from 0 to
    `FARTHEST` + 1. The same text gets the same noise, in any process.
    """
    words = text.split()
    if not words:
        return ""
    chance = Random(f"{loss} {text}")
    kept = [word for word in words if chance.random() >= loss] or [chance.choice(words)]
    places = [place + chance.random() * (FARTHEST + 1) for place in range(len(kept))]
    return " ".join(word for _, word in sorted(zip(places, kept, strict=True), key=lambda pair: pair[0]))
