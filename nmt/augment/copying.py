"""Made-up words in training pairs, on both sides the same, from which a model learns to copy what it does not know.

A model of subwords can write any name or number, but learns to do so only from words that translations keep, and
captions have next to none of them (Luong et al. 2015, "Addressing the Rare Word Problem", copies by alignment; Currey
et al. 2017 by more text). So now and then a word and its translation both give way to the same made-up word.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from nmt.augment.ibm1 import translations
from nmt.data.batching import Example
from nmt.data.store import Rows
from nmt.text.codec import Codec
from nmt.text.tokenizers.base import SPACE_MARK
from nmt.text.tokenizers.case import MARKS
from nmt.text.vocabulary import SPECIALS, UNK

LEAST_PROBABILITY = 0.5  # of the translation that a word is given up with
FREQUENT = 100  # tokens, mostly articles and the like, that stay
NUMBERS = 0.25  # of the made-up words are numbers
CONSONANTS = [*"bcdfghjklmnprstvwz", "ch", "sch", "st", "th", "ck", "ll", "nn", "rr"]
VOWELS = [*"aeiouaeioäöü", "ie", "ei", "au"]


class Copying:
    """Puts made-up words into pairs of one joint vocabulary of subwords."""

    def __init__(self, codec: Codec, source: Rows, target: Rows) -> None:
        tokens = codec.vocabulary.tokens
        self._codec = codec
        self._begins = [token.startswith(SPACE_MARK) or token in MARKS for token in tokens]
        self._marks = {number for number, token in enumerate(tokens) if token in MARKS}
        rare = range(len(SPECIALS) + FREQUENT, len(tokens))  # a vocabulary begins with its frequent tokens
        self._pieces = [piece for token in tokens if (piece := token.removeprefix(SPACE_MARK)).isalpha()]
        self._words = {n for n in rare if tokens[n].startswith(SPACE_MARK) and tokens[n][1:].isalpha()}
        table = translations(source, target)
        likely = table.probability >= LEAST_PROBABILITY
        self._translation = dict(zip(table.source[likely].tolist(), table.target[likely].tolist(), strict=True))

    def replaced(self, pair: Example, chance: Random) -> Example:
        """The pair with a made-up word in place of a word and its translation, or as it is if no word has a clear one.

        Words of several subwords stay, and so do frequent ones and those that come twice.
        """
        targets, sources = self._slices(pair.target), self._slices(pair.source)
        slices = [(s, t) for token, s in sources.items() if (t := targets.get(self._translation.get(token, -1)))]
        if not slices:
            return pair
        source, target = chance.choice(slices)
        word = self._codec.encode(made_up(chance, self._pieces))
        if UNK in word:  # a letter that the corpus has not got
            return pair
        spliced = [
            [*ids[: position.start], *word, *ids[position.stop :]]
            for ids, position in ((pair.source, source), (pair.target, target))
        ]
        return Example(spliced[0], spliced[1])

    def _slices(self, ids: Sequence[int]) -> dict[int, slice]:
        """The positions of each word of one subword, with the mark of case before it."""
        slices = {}
        for i, token in enumerate(ids):
            ends = i + 1 == len(ids) or self._begins[ids[i + 1]]
            if token in self._words and ends and ids.count(token) == 1:
                slices[token] = slice(i - (i > 0 and ids[i - 1] in self._marks), i + 1)
        return slices


def made_up(chance: Random, pieces: Sequence[str] = ()) -> str:
    """A word that looks like a name, such as "Vorausch", or a number.

    Half of the names are two or three of the `pieces`, if there are any: subwords, of which real names consist, too,
    and which a model would rather translate ("Müller" begins as "Müll" does). Now and then they form a real word.
    """
    if chance.random() < NUMBERS:
        return str(chance.randrange(10 ** chance.randint(1, 4)))
    if pieces and chance.random() < 0.5:
        return "".join(chance.choices(pieces, k=chance.randint(2, 3))).capitalize()
    syllables = [chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in range(chance.randint(1, 3))]
    return ("".join(syllables) + chance.choice(["", *CONSONANTS])).capitalize()
