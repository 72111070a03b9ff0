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
from tools.sample_corpus.phrase import Phrase, comma, pair, phrase, sentence
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
def test_the_committed_files_are_written_and_an_interrupted_call_is_completed(tmp_path: Path) -> None:
    committed = {path.name: path.read_bytes() for path in COMMITTED.iterdir()}
    assert len(committed) == 10
    for missing in (committed, ("README.md", "test.en")):
        for name in missing:
            (tmp_path / name).unlink(missing_ok=True)
        write(tmp_path)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == committed, "generate it again"


@pytest.mark.usefixtures("drawn_once")
def test_another_text_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "train.de"
    file.write_text("mein Text\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"train\.de is not the sample corpus: move it"):
        write(tmp_path)
    with pytest.raises(UserError, match=r"train\.de cannot be created"):
        write(file)
    assert [path.name for path in tmp_path.iterdir()] == ["train.de"]
    assert file.read_text(encoding="utf-8") == "mein Text\n"


def test_counts_lengths_and_seed(corpus: dict[str, list[Pair]], pairs: list[Pair]) -> None:
    first, same, other = (pair(story(Dice(seed), 31, 40)) for seed in (1, 1, 2))
    assert first == same != other
    assert {split: len(made) for split, made in corpus.items()} == {"train": 10_000, "validation": 500, "test": 1_000}
    assert len({made.source for made in pairs}) == len(pairs)
    for low, high in BUCKETS:
        assert sum(low <= len(made.source) <= high for made in corpus["test"]) >= 100
    assert sum(len(made.source) > 50 for made in corpus["test"]) >= 30
    lengths = [len(made.source) for made in corpus["train"]]
    assert min(lengths) == 3
    assert 17 <= sum(lengths) / len(lengths) <= 20
    assert sum(41 <= length <= 50 for length in lengths) >= 300
    assert sum(length > 50 for length in lengths) >= 100


def test_spacy_finds_the_generators_tokens(pairs: list[Pair]) -> None:
    german, english = spacy.blank("de").tokenizer, spacy.blank("en").tokenizer
    for made in pairs:
        assert tuple(token.text for token in german(detokenise(made.source))) == made.source
        assert tuple(token.text for token in english(detokenise(made.target))) == made.target


def test_every_word_is_linked_and_every_link_is_in_range(pairs: list[Pair]) -> None:
    for made in pairs:
        assert list(made.links) == sorted(set(made.links))
        for position, words in enumerate((made.source, made.target)):
            linked = {link[position] for link in made.links}
            assert linked <= set(range(len(words)))
            assert {words[i] for i in set(range(len(words))) - linked} <= {","}, made


def test_training_has_every_word_of_the_test(corpus: dict[str, list[Pair]]) -> None:
    train, test = ({word for made in corpus[name] for word in made.source + made.target} for name in ("train", "test"))
    assert test <= train


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


HAT = Clause(who("Frau"), find("anziehen", "put"), (what("Mantel", Determiner.A, "blau"),))
MAN = who("Mann", Determiner.A, "alt")
WEARING = Clause(silent(MAN), find("tragen", "wear"), (what("Hut", Determiner.A, "rot"),))
GOING = Clause(who("Junge"), find("gehen", "walk"), place=at(place("Markt", "zu")))
INVITING = Clause(GOING.subject, find("einladen", "invite"), (what("Lehrer", Determiner.THE),))
TIRED = feeling(who("Krankenschwester"), adjective("müde"), Tense.PAST)
LISTENING = Clause(pronoun(TIRED.subject), find("zuhören", "listen"), (what("Kind", Determiner.THE, case="dat"),))
CALLING = Clause(who("Koch"), find("anrufen", "call"), (what("Tante", Determiner.HIS),), tense=Tense.HABIT)
APPLE = (what("Junge", Determiner.THE, "klein", case="dat"), what("Apfel", Determiner.A))
# What is special in German, with the sentence, its English and their links.
SENTENCES = {
    "a separable verb is parted in a main clause": (
        main(HAT),
        "Die Frau zieht einen blauen Mantel an.",
        "The woman is putting on a blue coat.",
        "0-0 1-1 2-2 2-3 2-4 3-5 4-6 5-7 6-2 6-3 6-4 7-8",
    ),
    "a separable verb is joined in a subordinate clause": (
        main(Clause(who("Hund"), find("bellen", "bark")))
        + comma(english=False)
        + subordinate(phrase("weil", "because"), HAT),
        "Der Hund bellt, weil die Frau einen blauen Mantel anzieht.",
        "The dog is barking because the woman is putting on a blue coat.",
        "0-0 1-1 2-2 2-3 4-4 5-5 6-6 7-10 8-11 9-12 10-7 10-8 10-9 11-13",
    ),
    "a modal has its infinitive at the end": (
        main(replace(HAT, modal=MODALS[3])),
        "Die Frau will einen blauen Mantel anziehen.",
        "The woman wants to put on a blue coat.",
        None,
    ),
    "the verb stays second after an adverbial, and im is two words": (
        main(
            Clause(who("Kind", Determiner.A, "jung"), find("laufen", "run"), tense=Tense.PAST),
            fronted(at(place("Park", "in"))),
        ),
        "Im Park ist ein junges Kind gelaufen.",
        "In the park, a young child ran.",
        "0-0 0-1 1-2 2-7 3-4 4-5 5-6 6-7 7-8",
    ),
    "the verb closes a relative clause, and commas are German": (
        main(Clause(relative(MAN, WEARING), find("schlafen", "sleep"))),
        "Ein alter Mann, der einen roten Hut trägt, schläft.",
        "An old man who is wearing a red hat is sleeping.",
        "0-0 1-1 2-2 4-3 5-6 6-7 7-8 8-4 8-5 10-9 10-10 11-11",
    ),
    "um zu goes inside a separable verb": (
        main(GOING) + infinitive(INVITING),
        "Der Junge geht zum Markt, um den Lehrer einzuladen.",
        "The boy is walking to the market to invite the teacher.",
        "0-0 1-1 2-2 2-3 3-4 3-5 4-6 6-7 7-9 8-10 9-7 9-8 10-11",
    ),
    "two objects, a weak noun and a compound": (
        main(Clause(who("Straßenhändler"), find("geben", "give"), APPLE)),
        "Der Straßenhändler gibt dem kleinen Jungen einen Apfel.",
        "The street vendor is giving the small boy an apple.",
        "0-0 1-1 1-2 2-3 2-4 3-5 4-6 5-7 6-8 7-9 8-10",
    ),
    "a subordinate clause in front takes the first position": (
        main(replace(LISTENING, tense=Tense.PAST), subordinate(phrase("obwohl", "although"), TIRED) + comma()),
        "Obwohl die Krankenschwester müde war, hat sie dem Kind zugehört.",
        "Although the nurse was tired, she listened to the child.",
        "0-0 1-1 2-2 3-4 4-3 5-5 6-7 6-8 7-6 8-9 9-10 10-7 10-8 11-11",
    ),
    "an habitual present is simple in English": (
        main(CALLING, fronted(phrase("jeden", "every") + phrase("Tag", "day"))),
        "Jeden Tag ruft der Koch seine Tante an.",
        "Every day, the cook calls his aunt.",
        None,
    ),
}


@pytest.mark.parametrize(("body", "german", "english", "links"), SENTENCES.values(), ids=SENTENCES)
def test_grammar(body: Phrase, german: str, english: str, links: str | None) -> None:
    made = pair(sentence(body))
    assert (detokenise(made.source), detokenise(made.target)) == (german, english)
    assert links is None or " ".join(f"{s}-{t}" for s, t in made.links) == links


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
    for case, form in zip(("nom", "acc", "dat"), forms.split("|"), strict=True):
        declined = noun_phrase(noun(word), case, determiner, (adjective("klein"),)).phrase
        assert " ".join(token.text for token in declined.german) == form
