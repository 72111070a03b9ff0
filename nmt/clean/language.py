"""Text in another language than its side's, by py3langid (Lui and Baldwin 2012)."""

from __future__ import annotations

import re

from nmt.clean.settings import Settings
from nmt.text.language import NO_WORDS, base_language, identifiable, identifier, language_name
from nmt.text.normalization import normalized

SHORTEST = 25  # letters
# How much likelier a text must be in another language, in nats: by both. Related languages stay below.
CLEAR, CLEAR_PER_LETTER = 10.0, 0.3
LONGEST = 400  # characters that are looked at
_LETTER = re.compile(r"[^\W\d_]")


def language(source: str, target: str, settings: Settings) -> str:
    for name, text, code in zip(("source", "target"), (source, target), settings.languages, strict=True):
        if (expected := base_language(code)) in identifiable():
            words = NO_WORDS.sub(" ", normalized(text))[:LONGEST]
            letters = len(_LETTER.findall(words))
            if letters >= SHORTEST and identifier().classify(words)[0] != expected:  # twice as fast as all scores
                scores = dict(identifier().rank(words))
                likeliest = max(scores, key=lambda code: scores[code])
                if scores[likeliest] - scores[expected] > max(CLEAR, CLEAR_PER_LETTER * letters):
                    return f"{name}: {language_name(likeliest)}"
    return ""


def recognised(settings: Settings) -> bool:
    """Whether a side can be judged, because its language is one that is recognised."""
    return any(base_language(code) in identifiable() for code in settings.languages)
