"""Which of a few languages a text is in, by its words and their letters.

A language is known by spaCy's list of its stop words and spaCy's example sentences. They are read as files: to import
spaCy takes as long as to translate a sentence.
"""

from __future__ import annotations

import math
import re
import runpy
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_CODE = re.compile("[a-z]{2,3}")
_WORD = re.compile(r"[^\W\d_]+")
_CLEAR = 3.0  # nats: how much likelier a text must be; no word outside of the lists says as much by itself
_STOP_WORDS = 0.9  # the share of a text's words that are, here, taken for stop words
_CONTEXT = 3  # letters
_TRUST = 6.0  # how often a context must have been met for its counts to weigh as much as those of a shorter one


class _Known(NamedTuple):
    """Of a language: its stop words, and how often its words have each sequence of letters ("" is any letter)."""

    stop_words: frozenset[str]
    counts: Counter[str]


def likeliest_language(text: str, languages: Sequence[str]) -> str | None:
    """The language with the likeliest words; None where that is not clear.

    A word's likelihood is that of a mixture: of the stop words, each as likely as the others, and of all words, whose
    letters depend on those before. Words with a capital, which may be names, count only at the beginning of the text,
    or if there are no others. A language that spaCy has no stop words of is never found.
    """
    known = {language: _known(language) for language in languages}
    scores = dict.fromkeys(known, 0.0)
    for word in _telling_words(text):
        if not any(all(letter in one.counts for letter in word) for one in known.values()):
            continue  # in another script
        logs = {language: _log_likelihood(word, one) for language, one in known.items()}
        least = -math.inf if any(word in one.stop_words for one in known.values()) else -_CLEAR
        for language, value in logs.items():
            scores[language] += max(value - max(logs.values()), least)
    best, *others = sorted(scores, key=scores.__getitem__, reverse=True)
    clear = all(scores[best] - scores[other] > _CLEAR for other in others)
    return best if clear and known[best].stop_words else None


def _telling_words(text: str) -> list[str]:
    first, *others = _WORD.findall(text) or [""]
    without_capitals = [word for word in others if word == word.lower()]
    return [first.lower(), *without_capitals] if without_capitals else _words(text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _log_likelihood(word: str, known: _Known) -> float:
    text, spelled = f"^{word}$", 1.0
    for end in range(1, len(text)):
        share = 0.01  # of a letter that was never met
        for begin in range(end, max(end - _CONTEXT, 0) - 1, -1):
            count, of = known.counts[text[begin : end + 1]], known.counts[text[begin:end]]
            share = (count + _TRUST * share) / (of + _TRUST)
        spelled *= share
    listed = word in known.stop_words and 1 / len(known.stop_words)
    return math.log(_STOP_WORDS * listed + (1 - _STOP_WORDS) * spelled + 1e-300)


@cache
def _known(language: str) -> _Known:
    stop_words = frozenset(_words(" ".join(_list(language, "stop_words", "STOP_WORDS"))))
    counts: Counter[str] = Counter()
    for word in stop_words.union(_words(" ".join(_list(language, "examples", "sentences")))):
        text = f"^{word}$"
        counts[""] += len(text) - 1
        counts.update(
            text[begin:end] for end in range(1, len(text) + 1) for begin in range(max(end - _CONTEXT - 1, 0), end)
        )
    return _Known(stop_words, counts)


def _list(language: str, module: str, name: str) -> list[str]:
    """A list in a module of spaCy's for a language; of a language that it does not know an empty one."""
    spacy = find_spec("spacy")
    if spacy is None or spacy.origin is None or not _CODE.fullmatch(language):
        return []
    path = Path(spacy.origin).parent / "lang" / language / f"{module}.py"
    return sorted(runpy.run_path(str(path))[name]) if path.exists() else []
