"""The sentences of a text, by spaCy's sentencizer with a language's rules for abbreviations and ordinals, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

WITHOUT_BLANKS = ("zh", "ja", "th", "lo", "km", "my")  # between sentences
# Most texts have one sentence, and need no spaCy, whose import takes as long as a translation.
_MAYBE_SEVERAL = re.compile(r"[.!?][\"')\]]{0,3}\s|\n|[^\x00-\u02ff]")
_SURE_END = re.compile(r"\n|(?<=[。！？])(?![。！？」』）”’])|$")
# What the sentencizer leaves at the end of the sentence before.
_OPENING = re.compile(r"(?:(?<=\s)(?:[^\w\s]|_)+)?$")
_SPACES = re.compile(r"\s*")
_LONG_WORD = re.compile(r"\S{101,}")  # spaCy's time is quadratic in a word's length


class Sentences(NamedTuple):
    """The sentences of a text, and the white space that stands between each two."""

    sentences: list[str]
    gaps: list[str]


def split_text(text: str, language: str, target_language: str = "") -> Sentences:
    """The sentences of a text. A text of one sentence stays as it is; line ends always separate sentences.

    Between sentences without white space there is a blank if the target language has blanks.
    """
    whole, text = text, text.strip()
    starts = list(_starts(text, language)) if _MAYBE_SEVERAL.search(text) else []
    if len(starts) < 2:
        return Sentences([whole], [])
    parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    sentences = [part.rstrip() for part in parts]
    gaps = [part[len(sentence) :].replace("\r\n", "\n") for part, sentence in zip(parts, sentences, strict=True)]
    none = "" if target_language in WITHOUT_BLANKS else " "
    return Sentences(sentences, [re.sub(r"[^\n\t ]", " ", gap) or none for gap in gaps[:-1]])


def _starts(text: str, language: str) -> Iterator[int]:
    """Where the sentences of a text begin. What has no letter is part of the sentence before it or after it."""
    tokenizer, sentencizer = _rules(language)
    is_lower = text == text.lower()
    begin = 0
    for end in (match.end() for match in _SURE_END.finditer(text)):
        line = _LONG_WORD.sub(lambda word: "x" * len(word[0]), text[begin:end].rstrip())
        last = len(line) - len(line.lstrip())
        if line:
            yield begin + last
        for sentence in sentencizer(tokenizer(line)).sents:
            start = _SPACES.match(line, sentence.start_char).end()  # type: ignore[union-attr]  # it may be empty
            start -= len(_OPENING.search(line[max(0, start - 5) : start])[0])  # type: ignore[index,operator]  # it may be empty
            begins_small = line[start].islower() and not is_lower  # as after an abbreviation, or words in quotes
            if not begins_small and _has_letter(line[last:start]) and _has_letter(line[start:]):
                yield begin + start
                last = start
        begin = end


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


@cache
def _rules(language: str) -> tuple[Any, Any]:
    """spaCy's tokenizer for a language, or the one for any language, and the sentencizer."""
    from spacy.pipeline import Sentencizer

    from nmt.text.tokenizers.spacy import language_of_rules, spacy_rules

    return spacy_rules(language_of_rules(language)), Sentencizer()
