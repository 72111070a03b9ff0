"""spaCy's rules for a language, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Self

from nmt.system.errors import UserError
from nmt.system.values import shown
from nmt.text.tokenizers.base import SurfaceTokenizer

# Where spaCy cuts and Moses' rules, made for Moses' own tokens, do not join again.
_CONTRACTION = re.compile(r"n['’]t|['’](s|m|d|re|ve|ll)", re.IGNORECASE)
_HALVES = {("can", "not"), ("gon", "na"), ("got", "ta")}
_CODE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")
_LONG_WORD, _PIECE = re.compile(r"\S{501,}"), re.compile(".{1,100}")


@dataclass(frozen=True)
class SpacyTokenizer(SurfaceTokenizer):
    """The tokens of spaCy's rules for a language (no model), detokenised by Moses' rules.

    Raises UserError if spaCy has no rules for the language.
    """

    beyond_export = "the package spacy"

    language: str
    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(language, lowercase)

    def __post_init__(self) -> None:
        _spacy_rules(self.language)  # a wrong language shows here, not in the middle of a corpus

    def surfaces(self, text: str) -> list[str]:
        # spaCy takes punctuation off a word one character after the other, and copies the rest each time: 100,000
        # brackets would take half an hour.
        text = _LONG_WORD.sub(lambda word: " ".join(_PIECE.findall(word[0])), text)
        return [token.text for token in _spacy_rules(self.language)(" ".join(text.split()))]

    def detokenize(self, tokens: list[str]) -> str:
        return _moses(self.language).detokenize(_rejoin(tokens, self.language), unescape=False)


def _rejoin(tokens: list[str], language: str) -> list[str]:
    """The tokens with contractions, compounds, curly quotes and #numbers put together again.

    A hyphen between words is taken for a compound's, except in German, whose compounds spaCy leaves whole.
    """
    joints = "/" if language == "de" else "/-"
    openers, closers = ("", "”") if language == "de" else ("“‘#", "”’")
    words: list[str] = []
    is_open = False  # whether the last of the words goes on with the next token
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        joint = token in joints and before[-1:].isalnum() and after[:1].isalnum()
        ending = token in closers or _CONTRACTION.fullmatch(token) or (before.lower(), token.lower()) in _HALVES
        if words and (is_open or joint or ending):
            words[-1] += token
        else:
            words.append(token)
        is_open = joint or token in openers
    return words


@cache
def _spacy_rules(language: str) -> Any:
    import spacy

    try:
        # spaCy imports the module of this name, which may come from a file: only packages are languages.
        module = find_spec(f"spacy.lang.{language}") if _CODE.fullmatch(language) else None
        if not _CODE.fullmatch(language) or (module and module.submodule_search_locations is None):
            raise ValueError
        return spacy.blank(language).tokenizer
    except (ImportError, ValueError):
        raise UserError(
            f"language: spaCy has no tokenizer rules for {shown(language)} here; "
            "use a code such as de or en, or another kind of tokenizer"
        ) from None


@cache
def _moses(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(language)
