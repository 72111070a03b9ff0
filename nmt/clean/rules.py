"""Rules that judge one pair by its text. Each returns why a pair is to be dropped, or the empty string."""

from __future__ import annotations

import re

from nmt.clean.settings import Settings
from nmt.text.checks import number_differences, repeats
from nmt.text.corpus import LINE_END, comparable
from nmt.text.language import NO_WORDS, base_language
from nmt.text.normalization import normalized
from nmt.text.sentences import WITHOUT_BLANKS

LONGEST_WORD = 100  # characters
SMOOTHING = 10  # characters added to both sides, so that short texts may differ more
WRITTEN_AS_WORDS = 12  # the largest number that is often a word: three files, der zwölfte Tag
_WORD = re.compile(r"[^\W\d_]{2,}")
_SAME_LETTERS = re.compile(r"([^\W\d_])\1{4}")
_NO_NUMBERS = re.compile(r"%\d+\$|&#\w+;")  # positions of arguments, characters
_THOUSANDS = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")  # 20 000
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"<[^<>]*>|%\S*")


def empty(source: str, target: str, _: Settings) -> str:
    sides = {"source": source, "target": target}
    empty_sides = [side for side, text in sides.items() if not normalized(text).replace(LINE_END, " ").strip()]
    return f"{' and '.join(empty_sides)} without text" if empty_sides else ""


def identical(source: str, target: str, settings: Settings) -> str:
    """Equal sides of many words. Names, of few words, are the same in many languages: a model should copy them."""
    words = len(_WORD.findall(NO_WORDS.sub(" ", source)))
    is_same = words > settings.max_identical and comparable(source) == comparable(target)
    return f"{words} words" if is_same else ""


def too_long(source: str, target: str, settings: Settings) -> str:
    for text, language in zip((source, target), settings.languages, strict=True):
        words = text.replace(LINE_END, " ").split()
        has_blanks = base_language(language) not in WITHOUT_BLANKS
        count = len(words) if has_blanks else sum(map(len, words)) // 2  # a word has about two characters
        if count > settings.max_words:
            return f"{count} words"
        longest = max(map(len, words), default=0)
        if has_blanks and longest > LONGEST_WORD:
            return f"a word of {longest} characters"
    return ""


def ratio(source: str, target: str, settings: Settings) -> str:
    one, other = len(source) * settings.expected_ratio + SMOOTHING, len(target) + SMOOTHING
    quotient = max(one, other) / min(one, other)
    return f"{quotient:.1f} times as long" if quotient > settings.max_ratio else ""


def repeated(source: str, target: str, _: Settings) -> str:
    sides = [_has_repetition(text) for text in (source, target)]
    return f"in the {'source' if sides[0] else 'target'}" if sides[0] != sides[1] else ""


def _has_repetition(text: str) -> bool:
    words = _CODE.sub(" ", text)
    return _SAME_LETTERS.search(words.lower()) is not None or repeats(words)


def numbers(source: str, target: str, _: Settings) -> str:
    """Numbers that differ. Small ones that one side has and the other lacks are words there."""
    if not (_DIGIT.search(source) or _DIGIT.search(target)):
        return ""
    texts = [_NO_NUMBERS.sub("%", text) for text in (source, target)]
    if not any(number_differences(*(_THOUSANDS.sub("", text) for text in texts))):
        return ""
    missing, new = number_differences(*texts)
    differ = (missing and new) or any(len(n) > 2 or int(n) > WRITTEN_AS_WORDS for n in (*missing, *new))
    return f"{' '.join(missing) or '–'} / {' '.join(new) or '–'}" if differ else ""
