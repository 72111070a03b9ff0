"""Random choices: who does what, where and when. What makes sense is decided here, and the grammar says it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TypeVar

from tools.sample_corpus import grammar
from tools.sample_corpus.grammar import Clause, Determiner, Nominal, Tense
from tools.sample_corpus.lexicon import (
    ADJECTIVES,
    BARE,
    FEELINGS,
    MODALS,
    NOUNS,
    PLACES,
    Adjective,
    Noun,
    Verb,
    expand,
)
from tools.sample_corpus.phrase import EMPTY, Phrase, phrase
from tools.sample_corpus.verbs import RAIN, VERBS

Choice = TypeVar("Choice")

TIMES = {
    Tense.PRESENT: (("heute", "today"), ("jetzt", "now"), ("in diesem Moment", "at this moment")),
    Tense.HABIT: (
        ("jeden Tag", "every day"),
        ("jeden Morgen", "every morning"),
        ("jeden Abend", "every evening"),
        ("jeden Sonntag", "every Sunday"),
    ),
    Tense.PAST: (
        ("gestern", "yesterday"),
        ("am Morgen", "in_the morning"),
        ("am Nachmittag", "in_the afternoon"),
        ("am Abend", "in_the evening"),
        ("am Montag", "on Monday"),
        ("am Sonntag", "on Sunday"),
        ("im Winter", "in_the winter"),
        ("letzte Woche", "last week"),
    ),
}
GARMENTS_ON = ("Hut", "Mütze", "Schal", "Helm", "Schürze")  # mit einem Hut, but in einem Mantel
CLOTHING = ("wear", "put", "take")
CHILDREN = ("Junge", "Mädchen", "Kind", "Welpe")
ELDERS = ("Großvater", "Großmutter", "Vater", "Mutter")
PLURALS = (Determiner.TWO, Determiner.THREE, Determiner.FOUR, Determiner.MANY, Determiner.SOME)


class Dice:
    """Seeded choices. Only `Random.random` is used, because it alone is guaranteed to be the same in every Python."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, options: Sequence[Choice]) -> Choice:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1."""
        return int(self._random.random() * bound)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability


@dataclass(frozen=True)
class Actor:
    """A person, animal or thing in a text."""

    noun: Noun
    plural: bool


def adverbial(row: tuple[str, str]) -> Phrase:
    """A time phrase whose words correspond one to one."""
    german, english = (side.split() for side in row)
    return sum((phrase(g, e) for g, e in zip(german, english, strict=True)), EMPTY)


@cache
def fitting_adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that fit it."""
    return tuple(adjective for adjective in ADJECTIVES if suits(adjective, noun))


def suits(adjective: Adjective, noun: Noun) -> bool:
    """Whether the combination makes sense: no old boys, no young grandmothers."""
    if adjective.german == "alt" and noun.singular in CHILDREN:
        return False
    if adjective.german in ("jung", "klein") and noun.singular in ELDERS:
        return False
    return noun.group in adjective.groups


def adjectives(dice: Dice, noun: Noun, often: float = 0.5) -> tuple[Adjective, ...]:
    """No adjective, one, or a size and another one."""
    fitting = fitting_adjectives(noun)
    if not fitting or not dice.chance(often):
        return ()
    first = dice.pick(fitting)
    second = dice.pick(fitting)
    return (first, second) if first.size and not second.size and dice.chance(0.5) else (first,)


def actor(dice: Dice, groups: Sequence[str], but: Noun | None = None) -> Actor:
    """A random member of these groups, other than `but`."""
    noun = dice.pick(NOUNS[dice.pick(groups)])
    while noun == but:
        noun = dice.pick(NOUNS[dice.pick(groups)])
    return Actor(noun, dice.chance(0.25))


def again(who: Actor) -> Nominal:
    """A reference to somebody mentioned before: a pronoun for people, if German and English agree in gender."""
    known = grammar.noun_phrase(who.noun, "nom", Determiner.ALL_THE if who.plural else Determiner.THE)
    return grammar.pronoun(known) if known.human and known.gender != "n" else known


def outfit(dice: Dice, who: Actor) -> Phrase:
    """What somebody wears or carries: `mit einem roten Hut`, `in einer Jacke`."""
    noun = dice.pick(NOUNS[dice.pick(("garment", "garment", "thing"))])
    preposition, english = (
        ("in", "in") if noun.group == "garment" and noun.singular not in GARMENTS_ON else ("mit", "with")
    )
    determiner = Determiner.NONE if who.plural else Determiner.A
    worn = grammar.noun_phrase(noun, "dat", determiner, adjectives(dice, noun))
    return grammar.prepositional(preposition, english, worn)


def introduce(dice: Dice, who: Actor, known: float = 0.4, dressed: float = 0.15) -> Nominal:
    """Somebody mentioned for the first time: with `a`, with `the`, or as a number of them."""
    if dice.chance(known):
        determiner = Determiner.ALL_THE if who.plural else Determiner.THE
    else:
        determiner = dice.pick(PLURALS) if who.plural else Determiner.A
    result = grammar.noun_phrase(who.noun, "nom", determiner, adjectives(dice, who.noun))
    if result.human and dice.chance(dressed):
        return replace(result, phrase=result.phrase + outfit(dice, who))
    return result


def _determiner(dice: Dice, noun: Noun, case: str, subject: Nominal, worn: bool) -> Determiner:
    own = {"m": Determiner.HIS, "f": Determiner.HER}.get(subject.gender) if subject.human else None
    if worn and subject.plural:
        return Determiner.NONE
    if own and (noun.group == "kin" or (noun.group in expand("item") and dice.chance(0.15))):
        return own
    if case == "dat" or noun.group == "kin":
        return Determiner.THE
    if worn or dice.chance(0.75):
        return dice.pick((Determiner.A, Determiner.A, Determiner.THE))
    return dice.pick((Determiner.NONE, *PLURALS, Determiner.ALL_THE))


def thing(dice: Dice, verb: Verb, pattern: str, who: Actor, subject: Nominal) -> Nominal:
    """An object that fits the verb's pattern."""
    if pattern in BARE:
        return Nominal(phrase(*dice.pick(BARE[pattern])), "n")
    case, groups = {"a": "acc", "d": "dat"}[pattern[0]], expand(pattern[2:])
    if not (subject.human and subject.gender in "mf"):
        groups = tuple(group for group in groups if group != "kin") or ("dog",)
    noun = actor(dice, groups, who.noun).noun
    determiner = _determiner(dice, noun, case, subject, verb.base in CLOTHING)
    often = 0.1 if noun.group == "kin" else 0.4
    return grammar.noun_phrase(noun, case, determiner, adjectives(dice, noun, often))


def somewhere(dice: Dice, verb: Verb, who: Actor) -> Phrase:
    """A place, goal or path that fits the verb."""
    kinds = verb.places
    if who.noun.group in ("farm", "wild", "bird"):
        kinds = tuple({"town": "nature", "seat": "nature", "path": "wander"}.get(kind, kind) for kind in kinds)
    fitting = [place for place in PLACES if set(kinds) & set(place.kinds)]
    if not fitting:
        return EMPTY
    return grammar.at(dice.pick(fitting), Determiner.A if dice.chance(0.2) else Determiner.THE)


def act(
    dice: Dice, who: Actor, subject: Nominal, tense: Tense, verbs: Sequence[Verb] = VERBS, often: float = 0.6
) -> Clause:
    """What somebody does, with a place if the verb needs one, otherwise with probability `often`; sometimes negated."""
    verb = dice.pick([v for v in verbs if who.noun.group in v.subjects])
    objects = tuple(thing(dice, verb, pattern, who, subject).phrase for pattern in verb.objects)
    place = somewhere(dice, verb, who) if verb.placed or dice.chance(often) else EMPTY
    plain = tense is Tense.PRESENT and who.noun.group in expand("any") and not (objects or verb.prefix)
    return Clause(subject, verb, objects, place=place, tense=tense, negated=plain and dice.chance(0.08))


def perhaps_modal(dice: Dice, clause: Clause) -> Clause:
    """The same, sometimes with a modal verb, for subjects that have a will."""
    willing = clause.subject.group in expand("any") and clause.verb.prefix != "hin"
    if (
        not willing
        or clause.verb.stative
        or clause.negated
        or clause.tense is not Tense.PRESENT
        or not dice.chance(0.25)
    ):
        return clause
    return replace(clause, modal=dice.pick(MODALS))


def feels(dice: Dice, who: Actor, subject: Nominal, tense: Tense) -> Clause | None:
    """How somebody feels; None for things, or if the subject says it already (no tired man is tired)."""
    if {word.text for word in subject.phrase.english} & {adjective.english for adjective in FEELINGS}:
        return None
    fitting = [a for a in FEELINGS if who.noun.group in a.groups]
    return grammar.feeling(subject, dice.pick(fitting), tense) if fitting else None


def rain(tense: Tense) -> Clause:
    """It rains."""
    return Clause(Nominal(phrase("es", "it"), "n"), RAIN, tense=tense)
