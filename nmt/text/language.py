"""Which of a few languages a text is in, by its function words: those in spaCy's lists of stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module

_CODE = re.compile("[a-z]{2,3}")


def likeliest_language(text: str, languages: Sequence[str]) -> str | None:
    """The language that knows the most words of the text as function words; None if none does, or several do equally.

    Words that several of the languages have count for none of them. A language without such words in spaCy is never
    found.
    """
    known = {language: _known(language) for language in languages}
    owners = Counter(word for words in known.values() for word in words)
    words = [word for word in re.findall(r"\w+", text.lower()) if owners[word] == 1]
    counts = {language: sum(word in known[language] for word in words) for language in known}
    best = [language for language, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 and counts[best[0]] else None


def _known(language: str) -> frozenset[str]:
    try:
        if not _CODE.fullmatch(language):
            return frozenset()
        return frozenset(import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS)
    except ImportError:
        return frozenset()
