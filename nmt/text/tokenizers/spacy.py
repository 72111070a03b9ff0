"""spaCy's rules for a language, without a model."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Self

from nmt.system.errors import UserError
from nmt.system.values import shown
from nmt.text.tokenizers.base import SPACE_MARK, Tokenizer, lower, masks_apart, single_spaces

JOINT = "￭"  # U+FFED: no space between two tokens where the rules have one; SPACE_MARK is the opposite

# Where spaCy cuts and Moses' rules, made for Moses' own tokens, do not join again.
_CONTRACTION = re.compile(r"n['’]t|['’](s|m|d|re|ve|ll)", re.IGNORECASE)
_HALVES = {("can", "not"), ("gon", "na"), ("got", "ta")}
_CODE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")
_LONG_WORD, _PIECE = re.compile(r"\S{501,}"), re.compile(".{1,100}")


@dataclass(frozen=True)
class SpacyTokenizer(Tokenizer):
    """The tokens of spaCy's rules for a language, and a mark where Moses' rules would space them otherwise.

    It is a token of its own: "￭" for no space, "▁" for one. A word of the text that is "￭" or "▁" gets another one.
    Raises UserError if spaCy has no rules for the language.
    """

    spacing = frozenset((JOINT, SPACE_MARK))

    language: str
    lowercase: bool

    @classmethod
    def make(cls, language: str, lowercase: bool, model: bytes | None) -> Self:
        return cls(language, lowercase)

    def __post_init__(self) -> None:
        spacy_rules(self.language)  # a wrong language shows here, not in the middle of a corpus

    def words(self, text: str) -> list[str]:
        """spaCy's tokens alone, in the text's own letters."""
        # spaCy takes punctuation off a word one character after the other, and copies the rest each time: 100,000
        # brackets would take half an hour.
        text = _LONG_WORD.sub(lambda word: " ".join(_PIECE.findall(word[0])), text)
        return [token.text for token in spacy_rules(self.language)(single_spaces(masks_apart(text)))]

    def surfaces(self, text: str) -> list[str]:
        words, surfaces = self.words(text), list[str]()
        by_rules = self._spaces([lower(word, self.lowercase) for word in words])
        for word, has_space, expected in zip(words, _spaces_in(single_spaces(text), words), by_rules, strict=True):
            surfaces.append(word[0] + word if set(word) <= {word[0]} & self.spacing else word)
            if has_space != expected:
                surfaces.append(SPACE_MARK if has_space else JOINT)
        return surfaces

    def detokenize(self, tokens: list[str]) -> str:
        words, marked = list[str](), dict[int, bool]()
        for token in tokens:
            if token in self.spacing:
                marked[len(words) - 1] = token == SPACE_MARK
            else:
                words.append(token[1:] if set(token) <= {token[0]} & self.spacing else token)
        spaces = dict(enumerate(self._spaces(words))) | marked
        return "".join(word + " " * spaces[place] for place, word in enumerate(words)).rstrip()

    def _spaces(self, tokens: list[str]) -> list[bool]:
        """Whether Moses' rules have a space behind each token."""
        try:
            text = _moses(self.language).detokenize(_rejoin(tokens, self.language), unescape=False)
        except TypeError:  # a fault of sacremoses in the Czech words "e' - li"
            text = " ".join(tokens)
        return _spaces_in(text, tokens)


def _spaces_in(text: str, words: list[str]) -> list[bool]:
    """Whether a text has a space behind each of its words."""
    spaces, place = [], 0
    for word in words:
        place += len(word)
        spaces.append(text[place : place + 1] == " ")
        place += spaces[-1]
    return spaces


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
def spacy_rules(language: str) -> Any:
    import spacy

    try:
        # spaCy imports the module of this name, which may come from a file: only packages are languages.
        module = find_spec(f"spacy.lang.{language}") if _CODE.fullmatch(language) else None
        if not _CODE.fullmatch(language) or (module and module.submodule_search_locations is None):
            raise ValueError
        return spacy.blank(language).tokenizer
    except (ImportError, ValueError):
        fix = "use a code such as de or en, or another kind of tokenizer"
        raise UserError(f"language: spaCy has no tokenizer rules for {shown(language)} here; {fix}") from None


def language_of_rules(language: str) -> str:
    """The language, or `xx` (spaCy's rules for any language) where spaCy has none for it or lacks their package."""
    with suppress(UserError):
        spacy_rules(language)
        return language
    return "xx"


@cache
def _moses(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    rules = MosesDetokenizer(language)
    rules.AGGRESSIVE_HYPHEN_SPLIT = (re.compile("(?!)"), "")  # it would rewrite the text " @-@ "
    return rules
