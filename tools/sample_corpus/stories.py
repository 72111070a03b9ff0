"""Sentences of every kind, combined into texts of a given length, and the corpus made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tools.sample_corpus import grammar
from tools.sample_corpus.grammar import Clause, Determiner, Nominal, Tense
from tools.sample_corpus.lexicon import ANIMALS, Verb, expand
from tools.sample_corpus.phrase import EMPTY, Pair, Phrase, comma, pair, phrase, sentence
from tools.sample_corpus.scenes import (
    TIMES,
    Actor,
    Dice,
    act,
    actor,
    adverbial,
    again,
    feels,
    introduce,
    outfit,
    perhaps_modal,
    rain,
    somewhere,
    thing,
)
from tools.sample_corpus.verbs import DEEDS, PURPOSES, REPORTING, STEADY, VERBS

PROTAGONISTS = ("person",) * 12 + ("dog", "dog", "cat", "farm", "wild", "bird", "vehicle", "thing", "toy")
OTHERS = ("person",) * 8 + ANIMALS
PATHS = {"path", "road", "fly"}
THEN = (("dann", "then"), ("danach", "after_that"), ("später", "later"), ("plötzlich", "suddenly"))
ACTIVE = tuple(verb for verb in VERBS if not verb.stative)
BECAUSE, WHILE, ALTHOUGH = ("weil", "because"), ("während", "while"), ("obwohl", "although")


@dataclass(frozen=True)
class Role:
    """The subject of a sentence: who it is, and the words for it here."""

    who: Actor
    subject: Nominal
    new: bool  # not mentioned before


# One sentence, without its full stop, about somebody and in a tense.
Kind = Callable[[Dice, Role, Tense], Phrase]


def plain(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """A main clause; the subject, the time or the place comes first."""
    clause = perhaps_modal(dice, act(dice, role.who, role.subject, tense))
    if tense is Tense.HABIT or dice.chance(0.3):
        return grammar.main(clause, grammar.fronted(adverbial(dice.pick(TIMES[tense]))))
    settled = clause.place.german and not clause.negated and not PATHS & set(clause.verb.places)
    if settled and dice.chance(0.35):
        return grammar.main(replace(clause, place=EMPTY), grammar.fronted(clause.place))
    if dice.chance(0.15):
        return grammar.main(replace(clause, time=adverbial(dice.pick(TIMES[tense]))))
    return grammar.main(clause)


def then(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """What happened next."""
    clause = act(dice, role.who, role.subject, tense)
    return grammar.main(clause, grammar.fronted(adverbial(dice.pick(THEN))))


def caption(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """A caption without a verb: somebody somewhere."""
    if not role.new or role.who.noun.group not in OTHERS or tense is not Tense.PRESENT:
        return plain(dice, role, tense)
    dressed = outfit(dice, role.who) if role.who.noun.group == "person" else EMPTY
    standing = next(verb for verb in VERBS if verb.infinitive == "warten")
    return introduce(dice, role.who, known=0.0, dressed=0.0).phrase + dressed + somewhere(dice, standing, role.who)


def brief(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """The shortest sentence: animals, without an article, and a verb."""
    if role.who.noun.group not in ANIMALS:
        return plain(dice, role, tense)
    subject = grammar.noun_phrase(role.who.noun, "nom", Determiner.NONE)
    verbs = [verb for verb in VERBS if not (verb.objects or verb.placed)]
    return grammar.main(act(dice, role.who, subject, tense, verbs, often=0.0))


def feeling(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """How somebody feels."""
    clause = feels(dice, role.who, role.subject, tense)
    return grammar.main(clause) if clause else plain(dice, role, tense)


def _reason(dice: Dice, role: Role, tense: Tense, mention: Nominal) -> Clause:
    """Something about the same subject, somebody else, or the weather."""
    own = 0.4 if mention.human and mention.gender != "n" else 0.1  # others have no pronoun, so the noun is repeated
    feels_so = feels(dice, role.who, mention, tense)
    if feels_so and dice.chance(own):
        return feels_so
    if feels_so and dice.chance(own):
        return perhaps_modal(dice, act(dice, role.who, mention, tense, often=0.3))
    return rain(tense) if dice.chance(0.1) else _other(dice, role, tense)


def _conjunction(dice: Dice, role: Role) -> tuple[str, str]:
    """Things have no reasons."""
    return dice.pick((BECAUSE, WHILE, ALTHOUGH)) if role.who.noun.group in OTHERS else WHILE


def _other(dice: Dice, role: Role, tense: Tense) -> Clause:
    """What somebody else does or has to do."""
    return perhaps_modal(dice, _meanwhile(dice, role, tense, VERBS))


def _meanwhile(dice: Dice, role: Role, tense: Tense, verbs: Sequence[Verb] = ACTIVE) -> Clause:
    """What somebody else does at the same time."""
    other = actor(dice, OTHERS, role.who.noun)
    return act(dice, other, introduce(dice, other, 0.5, 0.05), tense, verbs, often=0.4)


def reasoned(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """A main clause followed by a subordinate clause with weil, während or obwohl."""
    clause = act(dice, role.who, role.subject, tense, often=0.4)
    conjunction = _conjunction(dice, role)
    why = _meanwhile(dice, role, tense) if conjunction == WHILE else _reason(dice, role, tense, again(role.who))
    return grammar.main(clause) + comma(english=False) + grammar.subordinate(phrase(*conjunction), why)


def prefaced(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """A subordinate clause followed by the main clause, which then begins with its verb."""
    when = tense is Tense.HABIT
    conjunction = ("wenn", "when") if when else _conjunction(dice, role)
    why = _meanwhile(dice, role, tense) if conjunction == WHILE else _reason(dice, role, tense, role.subject)
    subject = again(role.who) if why.subject is role.subject else role.subject
    front = grammar.subordinate(phrase(*conjunction), why) + comma()
    return grammar.main(act(dice, role.who, subject, tense, often=0.4), front)


def reported(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """Somebody says, thinks or sees that …"""
    if role.who.noun.group != "person":
        return plain(dice, role, tense)
    main = grammar.main(Clause(role.subject, dice.pick(REPORTING), tense=tense))
    return main + comma(english=False) + grammar.subordinate(phrase("dass", "that"), _other(dice, role, tense))


def described(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """A subject with a relative clause."""
    if not role.new or role.who.noun.group not in OTHERS:
        return plain(dice, role, tense)
    subject = introduce(dice, role.who, dressed=0.0)
    verbs = VERBS if tense is Tense.PAST else STEADY
    clause = act(dice, role.who, grammar.silent(subject), tense, verbs, often=0.4)
    other_verbs = [verb for verb in verbs if verb.base != clause.verb.base]
    return grammar.main(act(dice, role.who, grammar.relative(subject, clause), tense, other_verbs, 0.5))


def remembered(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """An object with a relative clause that says what somebody did to it."""
    verbs = [v for v in VERBS if len(v.objects) == 1 and v.objects[0].startswith("a:") and not v.prefix]
    if role.who.noun.group != "person" or tense is Tense.PAST:
        return plain(dice, role, tense)
    verb = dice.pick(verbs)
    found = thing(dice, verb, verb.objects[0], role.who, role.subject)
    deeds = [v for v in DEEDS if found.group in expand(v.objects[0][2:]) and v.base != verb.base]
    if not deeds:
        return plain(dice, role, tense)
    other = actor(dice, ("person",), role.who.noun)
    while found.group in OTHERS and (other.plural or other.noun.gender != "m"):  # "die sie zeichnet": who draws whom?
        other = actor(dice, ("person",), role.who.noun)
    what = Clause(introduce(dice, other, 0.5, 0.0), dice.pick(deeds), tense=Tense.PAST)
    clause = Clause(role.subject, verb, (grammar.relative(found, what, "acc").phrase,), tense=tense)
    return grammar.main(clause)


def coupled(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """Two main clauses with `und` or `aber`; in the present they may share their subject."""
    shared = tense is Tense.PRESENT and role.who.noun.group in OTHERS and dice.chance(0.6)
    first = act(dice, role.who, role.subject, tense, STEADY if shared else VERBS, 0.4)
    if shared:
        verbs = [verb for verb in STEADY if verb.base != first.verb.base]
        second = act(dice, role.who, grammar.silent(role.subject), tense, verbs, 0.4)
    else:
        second = _other(dice, role, tense)
    link = phrase("und", "and") if shared or dice.chance(0.6) else comma() + phrase("aber", "but")
    return grammar.main(first) + link + grammar.main(second)


def together(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """Two subjects do the same."""
    if not role.new or role.who.noun.group != "person":
        return plain(dice, role, tense)
    first = introduce(dice, role.who, 0.3, 0.0)
    second = introduce(dice, actor(dice, ("person",), role.who.noun), 0.3, 0.0)
    return plain(dice, replace(role, subject=grammar.both(first, second)), tense)


def purposeful(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """Somebody goes somewhere in order to do something."""
    if role.who.noun.group != "person":
        return plain(dice, role, tense)
    motion = [verb for verb in VERBS if verb.places == ("path",) and not verb.objects]
    goal = act(dice, role.who, role.subject, tense, PURPOSES, often=0.0)
    clause = act(dice, role.who, role.subject, tense, motion)
    return grammar.main(clause) + grammar.infinitive(goal)


def habitual(dice: Dice, role: Role, tense: Tense) -> Phrase:
    """What happens every day, or whenever something else does."""
    if tense is Tense.PAST or role.who.noun.group not in OTHERS:
        return plain(dice, role, tense)
    return dice.pick((plain, prefaced))(dice, role, Tense.HABIT)


SHORT: tuple[Kind, ...] = (*(plain,) * 4, brief, caption, feeling, habitual, habitual, together)
KINDS: tuple[Kind, ...] = (
    *(plain, plain, plain, caption, feeling, habitual, together, coupled, coupled, reasoned, reasoned),
    *(prefaced, prefaced, reported, described, described, remembered, purposeful, habitual, habitual),
)
NEXT: tuple[Kind, ...] = (
    *(plain, plain, feeling, habitual, coupled, coupled, reasoned, reasoned),
    *(prefaced, reported, remembered, purposeful),
)


def story(dice: Dice, low: int, high: int) -> Phrase:
    """A text of `low` to `high` German tokens: one to five sentences, drawn again until the length is right."""
    while True:
        who, tense = actor(dice, PROTAGONISTS), dice.pick((Tense.PRESENT, Tense.PRESENT, Tense.PAST))
        text, used = EMPTY, list[Kind]()
        while len(text.german) < low and len(used) < 5:
            done = not used or used[-1] is together or who.noun.group not in OTHERS  # no more to say about a thing
            if done or dice.chance(0.35):
                who = actor(dice, PROTAGONISTS, who.noun)
                role = Role(who, introduce(dice, who), new=True)
            else:
                role = Role(who, again(who), new=False)
            if tense is Tense.PAST and not role.new and dice.chance(0.4):
                used.append(then)
            else:
                kinds = SHORT if high <= 10 else KINDS if role.new else NEXT
                used.append(dice.pick([kind for kind in kinds if kind is plain or kind not in used]))
            text += sentence(used[-1](dice, role, tense))
        if low <= len(text.german) <= high:
            return text


LENGTHS = ((3, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60))
# How many pairs of each length: the test split is balanced, so that BLEU by length is meaningful.
COUNTS = {
    "train": (2700, 3800, 2000, 850, 450, 200),
    "validation": (120, 160, 100, 60, 40, 20),
    "test": (190, 200, 190, 190, 190, 40),
}


def generate(seed: int = 1) -> dict[str, list[Pair]]:
    """The three splits. No source text occurs twice, neither within a split nor across splits."""
    dice, seen = Dice(seed), set[tuple[str, ...]]()
    return {split: _split(dice, counts, seen) for split, counts in COUNTS.items()}


def _split(dice: Dice, counts: tuple[int, ...], seen: set[tuple[str, ...]]) -> list[Pair]:
    left = [length for length, count in zip(LENGTHS, counts, strict=True) for _ in range(count)]
    pairs = []
    while left:
        length = left.pop(dice.below(len(left)))
        made = pair(story(dice, *length))
        while made.source in seen:
            made = pair(story(dice, *length))
        seen.add(made.source)
        pairs.append(made)
    return pairs
