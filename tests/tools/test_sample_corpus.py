"""The sample corpus: its files, its tokens, its alignment, and the German and English of its grammar."""

from pathlib import Path

import pytest
import spacy

from tools.sample_corpus import Pair, detokenise, generate, write
from tools.sample_corpus.phrase import pair
from tools.sample_corpus.scenes import Dice
from tools.sample_corpus.stories import story

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


# What is special in German: pairs with their links, checked by hand, of which texts of the corpus begin.
