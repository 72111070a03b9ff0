"""Which language a text is in, by py3langid (Lui and Baldwin 2012), and what languages are called."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from nmt.text.normalization import normalized

# Tags, placeholders, addresses, numbers and code say nothing of the language around them.
NO_WORDS = re.compile(r"<[^<>]*>|\{[^{}]*\}|\S*(?:[@/\\_=#%*+\d]|\w[.:]\w)\S*")
_CLEAR = 1.0  # nats: how much likelier a text must be in one language than in any other


def likeliest_language(text: str, languages: Collection[str]) -> str | None:
    """The one of these languages in which a text is likeliest; None where that is not clear.

    A language outside of `identifiable()` is never the answer.
    """
    scores = [(language, score) for language, score in ranked(text) if language in languages]
    is_clear = all(scores[0][1] - score > _CLEAR for _, score in scores[1:])
    return scores[0][0] if scores and is_clear else None


def ranked(text: str) -> list[tuple[str, float]]:
    """The languages that are recognised, likeliest first, each with the log-probability of the text, in nats."""
    return identifier().rank(NO_WORDS.sub(" ", normalized(text)))


def base_language(code: str) -> str:
    """A language's code without its region or script, in lower case: "de" of "de-AT" and "de_AT"."""
    return re.split("[-_]", code.strip(), maxsplit=1)[0].lower()


@cache
def identifiable() -> frozenset[str]:
    """The languages that have an ISO 639-1 code and are recognised."""
    return frozenset(identifier().labels) & _names().keys()


@cache
def identifier() -> Any:
    """The model, which is not the library's shared one: another program may restrict that to a few languages."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


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
