"""The sample corpus: its files, its tokens, its alignment, and the German and English of its grammar."""

from dataclasses import replace
from pathlib import Path

import pytest
import spacy

from nmt.system.errors import UserError
from tools.sample_corpus import Pair, detokenise, generate, write
from tools.sample_corpus.grammar import (
    Clause,
    Determiner,
    Nominal,
    Tense,
    at,
    feeling,
    fronted,
    infinitive,
    main,
    noun_phrase,
    pronoun,
    relative,
    silent,
    subordinate,
)
from tools.sample_corpus.lexicon import ADJECTIVES, MODALS, NOUNS, PLACES, Adjective, Noun, Place
from tools.sample_corpus.phrase import EMPTY, Phrase, comma, pair, phrase, sentence
from tools.sample_corpus.scenes import Dice
from tools.sample_corpus.stories import story
from tools.sample_corpus.verbs import VERBS, Verb

COMMITTED = Path(__file__).parents[2] / "data" / "sample"
BUCKETS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 50))


@pytest.fixture(scope="session")
def corpus() -> dict[str, list[Pair]]:
    return generate()


@pytest.fixture
def drawn_once(corpus: dict[str, list[Pair]], monkeypatch: pytest.MonkeyPatch) -> None:
    """`write` takes the corpus of this module: drawing it takes seconds."""
    monkeypatch.setattr("tools.sample_corpus.generate", lambda seed: corpus if seed == 1 else {})


@pytest.fixture(scope="session")
def pairs(corpus: dict[str, list[Pair]]) -> list[Pair]:
    return [made for split in corpus.values() for made in split]


@pytest.mark.usefixtures("drawn_once")
def test_the_committed_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    write(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 10
    assert names == sorted(path.name for path in COMMITTED.iterdir())
    for name in names:
        assert (tmp_path / name).read_bytes() == (COMMITTED / name).read_bytes(), f"{name}: generate it again"


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sample").write_bytes(b"")
    with pytest.raises(UserError, match="sample cannot be created"):
        write(tmp_path / "sample")


def test_counts_and_lengths(corpus: dict[str, list[Pair]]) -> None:
    assert {split: len(made) for split, made in corpus.items()} == {"train": 10_000, "validation": 500, "test": 1_000}
    for low, high in BUCKETS:
        assert sum(low <= len(made.source) <= high for made in corpus["test"]) >= 100
    assert sum(len(made.source) > 50 for made in corpus["test"]) >= 30
    lengths = [len(made.source) for made in corpus["train"]]
    assert min(lengths) == 3
    assert 17 <= sum(lengths) / len(lengths) <= 20
    assert sum(41 <= length <= 50 for length in lengths) >= 300
    assert sum(length > 50 for length in lengths) >= 100


def test_no_source_occurs_twice(pairs: list[Pair]) -> None:
    assert len({made.source for made in pairs}) == len(pairs)


def test_the_seed_decides() -> None:
    first, same, other = (pair(story(Dice(seed), 31, 40)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_spacy_finds_the_generators_tokens(pairs: list[Pair]) -> None:
    german, english = spacy.blank("de").tokenizer, spacy.blank("en").tokenizer
    for made in pairs:
        assert tuple(token.text for token in german(detokenise(made.source))) == made.source
        assert tuple(token.text for token in english(detokenise(made.target))) == made.target


def test_every_word_is_linked_and_every_link_is_in_range(pairs: list[Pair]) -> None:
    for made in pairs:
        assert list(made.links) == sorted(set(made.links))
        sources, targets = {s for s, _ in made.links}, {t for _, t in made.links}
        unlinked = [made.source[i] for i in set(range(len(made.source))) - sources]
        unlinked += [made.target[i] for i in set(range(len(made.target))) - targets]
        assert set(unlinked) <= {","}, made
        assert sources <= set(range(len(made.source)))
        assert targets <= set(range(len(made.target)))


def test_training_has_every_word_of_the_test(corpus: dict[str, list[Pair]]) -> None:
    known = {word for made in corpus["train"] for word in made.source + made.target}
    assert {word for made in corpus["test"] for word in made.source + made.target} <= known


def noun(german: str) -> Noun:
    return next(n for group in NOUNS.values() for n in group if n.singular == german)


def adjective(german: str) -> Adjective:
    return next(a for a in ADJECTIVES if a.german == german)


def place(german: str, preposition: str) -> Place:
    return next(p for p in PLACES if p.noun.singular == german and p.preposition == preposition)


def find(infinitive: str, english: str) -> Verb:
    """The verb with this German infinitive (including its prefix) and this English base form."""
    return next(v for v in VERBS if v.prefix + v.infinitive == infinitive and v.base == english)


def who(german: str, determiner: Determiner = Determiner.THE, *adjectives: str) -> Nominal:
    return noun_phrase(noun(german), "nom", determiner, tuple(map(adjective, adjectives)))


def what(german: str, determiner: Determiner = Determiner.A, *adjectives: str, case: str = "acc") -> Phrase:
    return noun_phrase(noun(german), case, determiner, tuple(map(adjective, adjectives))).phrase


def lines(body: Phrase) -> tuple[str, str, str]:
    made = pair(sentence(body))
    return detokenise(made.source), detokenise(made.target), " ".join(f"{s}-{t}" for s, t in made.links)


HAT = Clause(who("Frau"), find("anziehen", "put"), (what("Mantel", Determiner.A, "blau"),))


def test_a_separable_verb_is_parted_in_a_main_clause() -> None:
    assert lines(main(HAT)) == (
        "Die Frau zieht einen blauen Mantel an.",
        "The woman is putting on a blue coat.",
        "0-0 1-1 2-2 2-3 2-4 3-5 4-6 5-7 6-2 6-3 6-4 7-8",
    )


def test_a_separable_verb_is_joined_in_a_subordinate_clause() -> None:
    assert lines(
        main(Clause(who("Hund"), find("bellen", "bark")))
        + comma(english=False)
        + subordinate(phrase("weil", "because"), HAT)
    ) == (
        "Der Hund bellt, weil die Frau einen blauen Mantel anzieht.",
        "The dog is barking because the woman is putting on a blue coat.",
        "0-0 1-1 2-2 2-3 4-4 5-5 6-6 7-10 8-11 9-12 10-7 10-8 10-9 11-13",
    )


@pytest.mark.parametrize(
    ("change", "german", "english"),
    [
        ({"tense": Tense.PAST}, "Die Frau hat einen blauen Mantel angezogen.", "The woman put on a blue coat."),
        (
            {"modal": MODALS[3]},
            "Die Frau will einen blauen Mantel anziehen.",
            "The woman wants to put on a blue coat.",
        ),
        (
            {"subject": who("Frau", Determiner.TWO, "alt")},
            "Zwei alte Frauen ziehen einen blauen Mantel an.",
            "Two old women are putting on a blue coat.",
        ),
    ],
)
def test_tense_modal_and_number(change: dict[str, object], german: str, english: str) -> None:
    assert lines(main(replace(HAT, **change)))[:2] == (german, english)  # type: ignore[arg-type]


def test_the_verb_stays_second_after_an_adverbial_and_im_is_two_words() -> None:
    clause = Clause(who("Kind", Determiner.A, "jung"), find("laufen", "run"), tense=Tense.PAST)
    assert lines(main(clause, fronted(at(place("Park", "in"))))) == (
        "Im Park ist ein junges Kind gelaufen.",
        "In the park, a young child ran.",
        "0-0 0-1 1-2 2-7 3-4 4-5 5-6 6-7 7-8",
    )


def test_the_verb_closes_a_relative_clause_and_commas_are_german() -> None:
    man = who("Mann", Determiner.A, "alt")
    wearing = Clause(silent(man), find("tragen", "wear"), (what("Hut", Determiner.A, "rot"),))
    assert lines(main(Clause(relative(man, wearing), find("schlafen", "sleep")))) == (
        "Ein alter Mann, der einen roten Hut trägt, schläft.",
        "An old man who is wearing a red hat is sleeping.",
        "0-0 1-1 2-2 4-3 5-6 6-7 7-8 8-4 8-5 10-9 10-10 11-11",
    )


def test_um_zu_goes_inside_a_separable_verb() -> None:
    going = Clause(who("Junge"), find("gehen", "walk"), place=at(place("Markt", "zu")))
    goal = Clause(going.subject, find("einladen", "invite"), (what("Lehrer", Determiner.THE),))
    assert lines(main(going) + infinitive(goal)) == (
        "Der Junge geht zum Markt, um den Lehrer einzuladen.",
        "The boy is walking to the market to invite the teacher.",
        "0-0 1-1 2-2 2-3 3-4 3-5 4-6 6-7 7-9 8-10 9-7 9-8 10-11",
    )


def test_two_objects_a_weak_noun_and_a_compound() -> None:
    recipient = what("Junge", Determiner.THE, "klein", case="dat")
    clause = Clause(who("Straßenhändler"), find("geben", "give"), (recipient, what("Apfel", Determiner.A)))
    assert lines(main(clause)) == (
        "Der Straßenhändler gibt dem kleinen Jungen einen Apfel.",
        "The street vendor is giving the small boy an apple.",
        "0-0 1-1 1-2 2-3 2-4 3-5 4-6 5-7 6-8 7-9 8-10",
    )


def test_a_subordinate_clause_in_front_takes_the_first_place() -> None:
    tired = feeling(who("Krankenschwester"), adjective("müde"), Tense.PAST)
    front = subordinate(phrase("obwohl", "although"), tired) + comma()
    clause = Clause(pronoun(tired.subject), find("zuhören", "listen"), (what("Kind", Determiner.THE, case="dat"),))
    assert lines(main(replace(clause, tense=Tense.PAST), front)) == (
        "Obwohl die Krankenschwester müde war, hat sie dem Kind zugehört.",
        "Although the nurse was tired, she listened to the child.",
        "0-0 1-1 2-2 3-4 4-3 5-5 6-7 6-8 7-6 8-9 9-10 10-7 10-8 11-11",
    )


CASES = ("nom", "acc", "dat")


@pytest.mark.parametrize(
    ("word", "determiner", "forms"),
    [
        ("Hund", Determiner.THE, "der kleine Hund|den kleinen Hund|dem kleinen Hund"),
        ("Hund", Determiner.A, "ein kleiner Hund|einen kleinen Hund|einem kleinen Hund"),
        ("Katze", Determiner.THE, "die kleine Katze|die kleine Katze|der kleinen Katze"),
        ("Katze", Determiner.A, "eine kleine Katze|eine kleine Katze|einer kleinen Katze"),
        ("Pferd", Determiner.THE, "das kleine Pferd|das kleine Pferd|dem kleinen Pferd"),
        ("Pferd", Determiner.HER, "ihr kleines Pferd|ihr kleines Pferd|ihrem kleinen Pferd"),
        ("Pferd", Determiner.ALL_THE, "die kleinen Pferde|die kleinen Pferde|den kleinen Pferden"),
        ("Auto", Determiner.MANY, "viele kleine Autos|viele kleine Autos|vielen kleinen Autos"),
        ("Auto", Determiner.TWO, "zwei kleine Autos|zwei kleine Autos|zwei kleinen Autos"),
        ("Bär", Determiner.A, "ein kleiner Bär|einen kleinen Bären|einem kleinen Bären"),
    ],
)
def test_declension(word: str, determiner: Determiner, forms: str) -> None:
    for case, form in zip(CASES, forms.split("|"), strict=True):
        declined = noun_phrase(noun(word), case, determiner, (adjective("klein"),)).phrase
        assert " ".join(token.text for token in declined.german) == form


def test_an_habitual_present_is_simple_in_english() -> None:
    clause = Clause(who("Koch"), find("anrufen", "call"), (what("Tante", Determiner.HIS),), tense=Tense.HABIT)
    assert lines(main(clause, fronted(phrase("jeden", "every") + phrase("Tag", "day"))))[:2] == (
        "Jeden Tag ruft der Koch seine Tante an.",
        "Every day, the cook calls his aunt.",
    )
    assert main(clause, EMPTY).english[-1].text == "aunt"


@pytest.mark.usefixtures("drawn_once")
def test_another_text_is_never_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "train.de"
    own.write_text("mein Text\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"train\.de is not the sample corpus: move it"):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["train.de"]
    assert own.read_text(encoding="utf-8") == "mein Text\n"


@pytest.mark.usefixtures("drawn_once")
def test_what_an_interrupted_call_has_written_is_completed(tmp_path: Path) -> None:
    write(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("README.md", "test.en"):
        (tmp_path / name).unlink()
    write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
