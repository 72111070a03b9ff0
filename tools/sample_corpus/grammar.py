"""German and English grammar, side by side: noun phrases, predicates, clauses. Nothing here is random.

German order: a main clause has its finite verb second, a subordinate one last; participles, infinitives
and separable prefixes close the clause. English order: subject, verb, objects, place, time.
"""

from dataclasses import dataclass, replace
from enum import Enum

from tools.sample_corpus.lexicon import Adjective, Modal, Noun, Place, Verb
from tools.sample_corpus.phrase import EMPTY, Phrase, Unit, Word, comma, phrase, words

CASES = ("nom", "acc", "dat")
DEFINITE = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die den"}
EIN = {"m": "- en em", "f": "e e er", "n": "- - em", "p": "e e en"}
WEAK = {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"}
MIXED = {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"}
STRONG = {"p": "e e en"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins"}


def _form(table: dict[str, str], gender: str, case: str) -> str:
    return table[gender].split()[CASES.index(case)].replace("-", "")


class Tense(Enum):
    """The German present as an English progressive or habitual present; the German perfect as the English past."""

    PRESENT = "present"
    HABIT = "habit"
    PAST = "past"


class Determiner(Enum):
    """A determiner: its German stem, its English word, and whether it makes the noun plural."""

    THE = ("d", "the", False)
    A = ("ein", "a", False)
    HIS = ("sein", "his", False)
    HER = ("ihr", "her", False)
    ALL_THE = ("d", "the", True)
    NONE = ("", "", True)
    TWO = ("zwei", "two", True)
    THREE = ("drei", "three", True)
    FOUR = ("vier", "four", True)
    MANY = ("viel", "many", True)
    SOME = ("einig", "some", True)

    @property
    def plural(self) -> bool:
        """Whether the noun is plural."""
        return self.value[2]


@dataclass(frozen=True)
class Nominal:
    """A noun phrase or pronoun in a case, with the features that agreement needs. Gender `p` is the plural."""

    phrase: Phrase
    gender: str
    group: str = ""  # the noun's semantic class

    @property
    def plural(self) -> bool:
        """Whether its verb is plural."""
        return self.gender == "p"

    @property
    def human(self) -> bool:
        """Whether it is a person, so that the pronouns are who, he and she rather than that and it."""
        return self.group in ("person", "kin")


def _determine(determiner: Determiner, gender: str, case: str) -> tuple[str, dict[str, str]]:
    """The German determiner and the endings of the adjectives after it."""
    stem, _, plural = determiner.value
    match determiner:
        case Determiner.THE | Determiner.ALL_THE:
            return _form(DEFINITE, gender, case), WEAK
        case Determiner.MANY | Determiner.SOME:
            return stem + _form(EIN, gender, case), STRONG
        case _ if plural:
            return stem, STRONG
        case _:
            return stem + _form(EIN, gender, case), MIXED


def noun_phrase(noun: Noun, case: str, determiner: Determiner, adjectives: tuple[Adjective, ...] = ()) -> Nominal:
    """Determiner, adjectives and noun, in agreement."""
    gender = "p" if determiner.plural else noun.gender
    article, endings = _determine(determiner, gender, case)
    result = phrase(article, determiner.value[1])
    for adjective in adjectives:
        stem = adjective.german.removesuffix("e")
        result += phrase(stem + _form(endings, gender, case), adjective.english)
    if determiner.plural:
        german, english = noun.dative_plural if case == "dat" else noun.plural, noun.english_plural
    else:
        german, english = noun.singular if case == "nom" else noun.oblique, noun.english
    return Nominal(result + phrase(german, english), gender, noun.group)


def both(first: Nominal, second: Nominal) -> Nominal:
    """Two noun phrases joined by `und`."""
    return Nominal(first.phrase + phrase("und", "and") + second.phrase, "p", first.group)


def pronoun(of: Nominal) -> Nominal:
    """The nominative personal pronoun of a person: er, sie, or plural sie."""
    german, english = {"m": ("er", "he"), "f": ("sie", "she"), "p": ("sie", "they")}[of.gender]
    return replace(of, phrase=phrase(german, english))


def silent(of: Nominal) -> Nominal:
    """The same subject, left out, as in the second half of `er lacht und singt`."""
    return replace(of, phrase=EMPTY)


def prepositional(preposition: str, english: str, object_: Nominal) -> Phrase:
    """A preposition and its object, contracted where German does: in dem → im, linked to both English words."""
    front = phrase(preposition, english)
    article, *rest = object_.phrase.german
    joined = CONTRACTIONS.get(f"{preposition} {article.text}")
    german = front.german + object_.phrase.german
    if joined:
        german = (Word(joined, front.german[0].units + article.units), *rest)
    return Phrase(german, front.english + object_.phrase.english)


def at(place: Place, determiner: Determiner = Determiner.THE) -> Phrase:
    """A place, a path or a goal."""
    return prepositional(place.preposition, place.english, noun_phrase(place.noun, place.case, determiner))


@dataclass(frozen=True)
class Clause:
    """What a clause means; `main`, `subordinate` and `infinitive` put it into words. Objects are in German order."""

    subject: Nominal
    verb: Verb
    objects: tuple[Phrase, ...] = ()
    time: Phrase = EMPTY
    place: Phrase = EMPTY
    tense: Tense = Tense.PRESENT
    modal: Modal | None = None
    negated: bool = False


@dataclass(frozen=True)
class Predicate:
    """A verb's words: finite and closing ones in a main clause; all of them at the end of a subordinate clause."""

    finite: tuple[Word, ...]
    closing: tuple[Word, ...]
    final: tuple[Word, ...]
    english: tuple[Word, ...]


def _predicate(clause: Clause) -> Predicate:
    verb, plural, unit = clause.verb, clause.subject.plural, Unit()
    if clause.modal is not None:
        helper = Unit()
        modal = words(clause.modal.plural if plural else clause.modal.third, helper)
        infinitive = words(verb.prefix + verb.infinitive, unit)
        will = words(clause.modal.plural_english if plural else clause.modal.third_english, helper)
        english = will + words(f"{verb.base} {verb.particle}", unit)
        return Predicate(modal, infinitive, infinitive + modal, english)
    if clause.tense is Tense.PAST:
        auxiliary = verb.auxiliary if plural else {"haben": "hat", "sein": "ist"}[verb.auxiliary]
        if verb.auxiliary == "sein" and plural:
            auxiliary = "sind"
        participle = words(verb.prefix + verb.participle, unit)
        finite = words(auxiliary, unit)
        return Predicate(finite, participle, participle + finite, words(f"{verb.past} {verb.particle}", unit))
    form = verb.infinitive if plural else verb.third
    if clause.tense is Tense.HABIT or verb.stative:
        english = words(f"{verb.base if plural else verb.third_english} {verb.particle}", unit)
    else:
        english = words(f"{'are' if plural else 'is'} {verb.progressive} {verb.particle}", unit)
    return Predicate(words(form, unit), words(verb.prefix, unit), words(verb.prefix + form, unit), english)


def _middle(clause: Clause, verb: Predicate) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Everything between the German verbs, and the English verb with everything that follows it."""
    objects = sum(clause.objects, EMPTY)
    negation = phrase("nicht", "not") if clause.negated else EMPTY
    german = clause.time.german + objects.german + negation.german + clause.place.german
    english = verb.english[:1] + negation.english + verb.english[1:]
    return german, english + objects.english + clause.place.english + clause.time.english


def main(clause: Clause, front: Phrase = EMPTY) -> Phrase:
    """A main clause: the fronted part (or the subject) comes first, the finite verb second."""
    verb = _predicate(clause)
    middle, english = _middle(clause, verb)
    subject = clause.subject.phrase
    opening = front.german + verb.finite + subject.german if front.german else subject.german + verb.finite
    return Phrase(opening + middle + verb.closing, front.english + subject.english + english)


def subordinate(conjunction: Phrase, clause: Clause) -> Phrase:
    """A verb-final clause after its conjunction (or relative pronoun), without commas."""
    verb = _predicate(clause)
    middle, english = _middle(clause, verb)
    return conjunction + Phrase(
        clause.subject.phrase.german + middle + verb.final, clause.subject.phrase.english + english
    )


def infinitive(clause: Clause) -> Phrase:
    """`um … zu` with an infinitive; in a separable verb `zu` goes inside. The subject is not expressed."""
    verb, unit, goal = clause.verb, Unit(), Unit()
    if verb.prefix:
        closing: tuple[Word, ...] = (Word(verb.prefix + "zu" + verb.infinitive, (unit, goal)),)
    else:
        closing = words("zu", goal) + words(verb.infinitive, unit)
    rest = sum(clause.objects, EMPTY) + clause.place
    german = words("um", goal) + rest.german + closing
    english = words("to", goal) + words(f"{verb.base} {verb.particle}", unit) + rest.english
    return comma(english=False) + Phrase(german, english)


def feeling(subject: Nominal, adjective: Adjective, tense: Tense) -> Clause:
    """`sein` with an adjective: is tired, was tired."""
    past = tense is Tense.PAST
    german, plural = ("war", "waren") if past else ("ist", "sind")
    base, third = ("were", "was") if past else ("are", "is")
    be = Verb((), (), (), False, plural, german, "", "", "", base, third, "", "", "", True)
    return Clause(subject, be, place=phrase(adjective.german, adjective.english))


def fronted(adverbial: Phrase) -> Phrase:
    """An adverbial before the verb; English sets it off with a comma, German does not."""
    return adverbial + comma(german=False)


def relative(nominal: Nominal, clause: Clause, case: str = "nom") -> Nominal:
    """A noun phrase with a relative clause, whose subject is left out if the pronoun is nominative."""
    people = "who" if case == "nom" else "whom"
    link = phrase(_form(DEFINITE, nominal.gender, case), people if nominal.human else "that")
    body = comma(english=False) + subordinate(link, clause) + comma(english=False)
    return replace(nominal, phrase=nominal.phrase + body)
