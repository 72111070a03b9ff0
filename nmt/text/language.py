"""Which of a few languages a text is in, by its words and their letters.

A language is described by spaCy's list of its stop words and spaCy's example sentences. They are read as files: to
import spaCy takes as long as to translate a sentence.
"""

from __future__ import annotations

import difflib
import math
import re
import runpy
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from nmt.text.normalization import normalized

_CODE = re.compile("[a-z]{2,3}")
_WORD = re.compile(r"[^\W\d_]+")
# Tags, placeholders, addresses, numbers and code say nothing of the language around them.
_NO_WORDS = re.compile(r"<[^<>]*>|\{[^{}]*\}|\S*(?:[@/\\_=#%*+\d]|\w[.:]\w)\S*")
_CLEAR = 3.0  # nats: how much likelier a text must be; no word outside of the lists says as much by itself
_STOP_WORDS = 0.9  # the share of a text's words that are taken for stop words in this mixture
_CONTEXT = 3  # letters
_TRUST = 6.0  # how often a context must occur for its counts to weigh as much as those of a shorter one


class _Statistics(NamedTuple):
    """Of a language: its stop words, and how often its words have each sequence of letters ("" is any letter)."""

    stop_words: frozenset[str]
    counts: Counter[str]

    def log_likelihood(self, word: str) -> float:
        """log of a mixture of two models: one of stop words, each as likely as the others, and one of letters.

        A letter's probability is interpolated over contexts of 0 to `_CONTEXT` letters before it.
        """
        text, spelled = f"^{word}$", 1.0
        for end in range(1, len(text)):
            share = 0.01  # of a letter that never occurred
            for begin in range(end, max(end - _CONTEXT, 0) - 1, -1):
                count, total = self.counts[text[begin : end + 1]], self.counts[text[begin:end]]
                share = (count + _TRUST * share) / (total + _TRUST)
            spelled *= share
        listed = word in self.stop_words and 1 / len(self.stop_words)
        return math.log(_STOP_WORDS * listed + (1 - _STOP_WORDS) * spelled + 1e-300)


def likeliest_language(text: str, languages: Sequence[str]) -> str | None:
    """The language with the likeliest words; None where that is not clear.

    Words with a capital, which may be names, count only at the beginning of the text; if there are no others, stop
    words alone count. A language that spaCy has no stop words of is never the answer.
    """
    statistics = {language: _statistics(language) for language in languages}
    scores = dict.fromkeys(statistics, 0.0)
    first, *rest = _WORD.findall(_NO_WORDS.sub(" ", normalized(text))) or [""]
    small = [word for word in rest if word == word.lower()]
    for word in map(str.lower, [first, *(small or rest)]):
        is_listed = any(word in one.stop_words for one in statistics.values())
        if not is_listed and not (small and any(set(word) <= one.counts.keys() for one in statistics.values())):
            continue  # perhaps a name, or in another script
        logs = {language: one.log_likelihood(word) for language, one in statistics.items()}
        least = -math.inf if is_listed else -_CLEAR
        for language, value in logs.items():
            scores[language] += max(value - max(logs.values()), least)
    best, *worse = sorted(scores, key=scores.__getitem__, reverse=True)
    is_clear = all(scores[best] - scores[other] > _CLEAR for other in worse)
    return best if is_clear and statistics[best].stop_words else None


@cache
def code_meant(name: str) -> str | None:
    """The ISO 639-1 code that a language's name or longer code stands for, such as german and deu; None if none."""
    codes = {name: code for code, names in _names().items() for name in names}
    return next((codes[near] for near in difflib.get_close_matches(name, codes, n=1, cutoff=0.85)), None)


def language_name(code: str) -> str:
    """The English name of a language code such as "de"; of others the code itself."""
    return next((name.title() for name in _names().get(code, ()) if len(name) > 3), code)


@cache
def _names() -> dict[str, list[str]]:
    """Of each ISO 639-1 code: longer codes, of three letters, and then names, the English one first."""
    lines = Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()
    return {code: names for code, *names in (line.split("\t") for line in lines)}


@cache
def identifiable() -> tuple[str, ...]:
    """The languages that spaCy has both lists of."""
    files = _spacy_languages().glob("*/examples.py")
    return tuple(sorted(file.parent.name for file in files if file.with_name("stop_words.py").exists()))


@cache
def _statistics(language: str) -> _Statistics:
    stop_words, words = (
        frozenset(_WORD.findall(" ".join(_spacy_list(language, *source)).lower()))
        for source in (("stop_words", "STOP_WORDS"), ("examples", "sentences"))
    )
    counts: Counter[str] = Counter()
    for word in stop_words | words:
        text = f"^{word}$"
        counts[""] += len(text) - 1
        counts.update(
            text[begin:end] for end in range(1, len(text) + 1) for begin in range(max(end - _CONTEXT - 1, 0), end)
        )
    return _Statistics(stop_words, counts)


def _spacy_list(language: str, module: str, name: str) -> list[str]:
    """A list in a module of spaCy's for a language; an empty one for a language that it does not have."""
    path = _spacy_languages() / language / f"{module}.py"
    return list(runpy.run_path(str(path))[name]) if _CODE.fullmatch(language) and path.exists() else []


def _spacy_languages() -> Path:
    return Path(str(find_spec("spacy").origin)).parent / "lang"  # type: ignore[union-attr]  # it is installed
