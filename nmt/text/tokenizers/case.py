"""Case as marks between lower-cased pieces of words: "Ein T-Shirt" is ⇧ ein ⇪ t- ⇧ shirt.

A mark is a token that no tokenizer makes of text, since "▁" stands at the end of none of its own. It holds for the text
behind it: `TITLE` for the next letter, `CAPITALS` and `SMALL` for all letters, up to the next mark or word.
Only letters with one small and one capital form each, which lead to each other, count as letters here: "ß" stays as it
is.

This file imports nothing of nmt: exported models carry a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

SPACE_MARK = "▁"  # U+2581, which sentencepiece writes for a space
MARKS = TITLE, CAPITALS, SMALL = tuple(sign + SPACE_MARK for sign in "⇧⇪⇩")


def marked(word: str) -> list[tuple[str, str]]:
    """The parts of a word, lower-cased: each with the mark before it, or with the empty string."""
    following: list[bool | None] = []  # for each character whether the next letter behind it is a capital
    capital: bool | None = None
    for character in reversed(word):
        following.append(capital)
        capital = is_capital(character) if has_case(character) else capital
    parts = [("", "")]
    capitals = False
    for index, (character, next_is_capital) in enumerate(zip(word, reversed(following), strict=True)):
        mark = ""
        if is_capital(character):
            begins_name = next_is_capital is False and not word[index - 1 : index].isalpha()
            if not capitals or begins_name:
                mark = CAPITALS if next_is_capital else TITLE
                capitals = mark == CAPITALS
            character = character.lower()
        elif capitals and has_case(character):
            mark, capitals = SMALL, False
        if not mark:
            parts[-1] = (parts[-1][0], parts[-1][1] + character)
        elif len(parts) == 1 and not any(map(has_case, parts[0][1])):  # signs such as a quote come behind the mark
            parts = [(mark, parts[0][1] + character)]
        else:
            parts.append((mark, character))
    return parts


def cased(words: Iterable[str], cut: Callable[[str], Sequence[str]], vocabulary: Collection[str]) -> list[str]:
    """The tokens of some words, of which `cut` makes pieces of the vocabulary from a space mark and a word.

    A word whose marks would not give it back is cut as it is.
    """
    tokens: list[str] = []
    for word in words:
        word_tokens: list[str] = []
        for number, (mark, text) in enumerate(marked(word)):
            pieces = cut(SPACE_MARK + text)
            word_tokens += [mark] if mark else []
            word_tokens += _inside(pieces, vocabulary) if number else pieces
        tokens += word_tokens if unmarked(word_tokens) == SPACE_MARK + word else cut(SPACE_MARK + word)
    return tokens


def _inside(pieces: Sequence[str], vocabulary: Collection[str]) -> list[str]:
    """The pieces of a word as they are inside another one: the first without its space mark, in the longest pieces."""
    rest, inside = pieces[0].removeprefix(SPACE_MARK), []
    while rest:
        end = next((end for end in range(len(rest), 1, -1) if rest[:end] in vocabulary), 1)
        inside.append(rest[:end])
        rest = rest[end:]
    return [*inside, *pieces[1:]]


def unmarked(tokens: Sequence[str]) -> str:
    """The text of pieces, joined, with its case; pieces that begin a word begin with "▁"."""
    text = []
    mark, is_new = SMALL, False
    for token in tokens:
        if token in MARKS:
            mark, is_new = token, True
            continue
        if token.startswith(SPACE_MARK) and not is_new:
            mark = SMALL
        is_new = False
        if mark == CAPITALS:
            token = "".join(map(as_capital, token))
        elif mark == TITLE:
            index = next((index for index, character in enumerate(token) if has_case(character)), None)
            if index is not None:
                token, mark = token[:index] + as_capital(token[index]) + token[index + 1 :], SMALL
        text.append(token)
    return "".join(text)


@cache
def as_capital(character: str) -> str:
    """The capital letter of a small one, if each belongs to the other; anything else as it is."""
    capital = character.upper()
    return capital if len(capital) == 1 and capital.lower() == character else character


@cache
def is_capital(character: str) -> bool:
    """Whether it is a capital letter that one small letter belongs to, and that belongs to this one."""
    small = character.lower()
    return small != character and as_capital(small) == character


@cache
def has_case(character: str) -> bool:
    """Whether it is such a capital letter, or its small one."""
    return is_capital(character) or as_capital(character) != character
