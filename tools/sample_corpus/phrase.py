"""A phrase in two languages at once: German words, English words, and which of them mean the same thing."""

from __future__ import annotations

from dataclasses import dataclass, replace


class Unit:
    """One unit of meaning. The German and English words that express it are linked. It is equal only to itself."""


@dataclass(frozen=True)
class Word:
    """A token and the units that it expresses: none for a word without a counterpart, two for `im` (in + the)."""

    text: str
    units: tuple[Unit, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """German words and English words, each in the order of their language."""

    german: tuple[Word, ...] = ()
    english: tuple[Word, ...] = ()

    def __add__(self, other: Phrase) -> Phrase:
        """This phrase followed by another, in both languages."""
        return Phrase(self.german + other.german, self.english + other.english)


@dataclass(frozen=True)
class Pair:
    """A sentence pair: tokens and the links (source index, target index) between them, sorted."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


EMPTY = Phrase()


def words(text: str, *units: Unit) -> tuple[Word, ...]:
    """The words of a text (separated by spaces or underscores), all with the same units."""
    return tuple(Word(word, units) for word in text.replace("_", " ").split())


def phrase(german: str, english: str) -> Phrase:
    """A phrase that is one unit: every German word is linked to every English one."""
    unit = Unit()
    return Phrase(words(german, unit), words(english, unit))


def comma(german: bool = True, english: bool = True) -> Phrase:
    """A comma in both languages, linked, or in one of them."""
    return phrase("," if german else "", "," if english else "")


def sentence(body: Phrase) -> Phrase:
    """The phrase as a sentence: capitalised, with its commas and articles corrected, and a full stop."""
    closed = body + phrase(".", ".")
    return Phrase(_capitalise(_tidy(closed.german)), _capitalise(_articles(_tidy(closed.english))))


def pair(text: Phrase) -> Pair:
    """The tokens of a finished text and its word alignment."""
    positions: dict[Unit, list[int]] = {}
    for index, word in enumerate(text.german):
        for unit in word.units:
            positions.setdefault(unit, []).append(index)
    links = {(s, t) for t, word in enumerate(text.english) for unit in word.units for s in positions.get(unit, ())}
    return Pair(
        tuple(word.text for word in text.german), tuple(word.text for word in text.english), tuple(sorted(links))
    )


def detokenise(tokens: tuple[str, ...]) -> str:
    """The tokens as ordinary text: no space before a comma or a full stop."""
    return " ".join(tokens).replace(" ,", ",").replace(" .", ".")


def _tidy(line: tuple[Word, ...]) -> tuple[Word, ...]:
    """Remove each comma before another comma or the full stop, since a clause ends only once."""
    following = (*line[1:], Word(""))
    return tuple(
        word for word, after in zip(line, following, strict=True) if word.text != "," or after.text not in ",."
    )


def _articles(line: tuple[Word, ...]) -> tuple[Word, ...]:
    """Write `an` for `a` before a vowel."""
    following = (*line[1:], Word("."))
    return tuple(
        replace(word, text="an") if word.text == "a" and after.text[0] in "aeiou" else word
        for word, after in zip(line, following, strict=True)
    )


def _capitalise(line: tuple[Word, ...]) -> tuple[Word, ...]:
    first = line[0]
    return (replace(first, text=first.text[0].upper() + first.text[1:]), *line[1:])
