"""Made-up words in training pairs: the same on both sides, in the places of a word and of its translation."""

import re
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from support.texts import SAMPLE, data_config, rows_of

from nmt.augment.copying import FREQUENT, Copying
from nmt.config.data import DataConfig
from nmt.data.batching import Example
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers.case import TITLE
from nmt.text.vocabulary import SPECIALS, Vocabulary

LINES = 3000


def sample(name: str) -> list[str]:
    return (SAMPLE / f"train.{name}").read_text(encoding="utf-8").splitlines()[:LINES]


@pytest.fixture(scope="module", params=["sentencepiece", "sentencepiece_cased"])
def pairs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    text = ParallelText(sample("de"), sample("en"))
    kind = request.param
    config = data_config(tmp_path_factory.mktemp(kind), text, kind, 800, joint=True, lowercase=kind == "sentencepiece")
    return load_training_set(
        DataConfig.model_validate({**dict(config), "augment": {"copying": 0.3}, "max_length": 1000})
    )


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def test_words_on_both_sides_give_way_to_the_same_made_up_word(pairs: TrainingSet) -> None:
    first, again, other = (pairs.examples(range(len(pairs)), draw) for draw in ("1", "1", "2"))
    assert first == again
    assert first != other
    changed = 0
    for example, *lines in zip(first, sample("de"), sample("en"), strict=True):
        made = []
        for codec, ids, line in zip((pairs.source, pairs.target), (example.source, example.target), lines, strict=True):
            new = words(codec.tokenizer.detokenize(codec.vocabulary.decode(ids)).lower())
            made += [b for a, b in zip(words(line.lower()), new, strict=True) if a != b]
        assert len(made) in (0, 2)
        assert made[:1] == made[1:]
        changed += bool(made)
    assert 0.15 * LINES < changed < 0.3 * LINES


# Which word is replaced: any with a clear translation, but no frequent one and no mark

TYPES = [*SPECIALS, *(f"▁x{number}" for number in range(FREQUENT - 2)), "▁der", "▁the"]
TYPES += [TITLE, "▁haus", "▁house", "▁hund", "▁dog", "chen", "▁,", "▁new"]
ID = {token: number for number, token in enumerate(TYPES)}
LINES_OF_TYPES = [
    *(("▁der ▁haus ▁,", "▁the ▁house ▁,"), ("▁der ▁hund", "▁the ▁dog"), ("▁haus", "▁house")),
    *(("▁hund", "▁dog"), ("▁der", "▁the"), ("▁,", "▁,")),
]


def ids(text: str) -> list[int]:
    return [ID[token] for token in text.split()]


def replacements(source: str, target: str) -> set[tuple[str, str]]:
    """What may become of a pair, where each made-up word is written as NEW."""
    codec: Any = SimpleNamespace(vocabulary=Vocabulary(tuple(TYPES)), encode=lambda _: [ID["▁new"]])
    sides = (rows_of([ids(line[side]) for line in LINES_OF_TYPES]) for side in (0, 1))
    copying = Copying(codec, *sides)
    examples = [copying.replaced(Example(ids(source), ids(target)), Random(seed)) for seed in range(40)]
    return {(text_of(example.source), text_of(example.target)) for example in examples}


def text_of(tokens: Sequence[int]) -> str:
    return " ".join(TYPES[token] for token in tokens).replace("▁new", "NEW")


def test_any_word_with_a_clear_translation_is_replaced_with_its_mark_of_case() -> None:
    assert replacements("▁der ▁haus ▁, ▁hund", "▁the ▁dog ▁, ▁house") == {
        ("▁der NEW ▁, ▁hund", "▁the ▁dog ▁, NEW"),
        ("▁der ▁haus ▁, NEW", "▁the NEW ▁, ▁house"),
    }
    assert replacements(f"▁der {TITLE} ▁haus {TITLE} ▁x1", "▁the ▁house") == {(f"▁der NEW {TITLE} ▁x1", "▁the NEW")}
    assert replacements(f"▁der {TITLE} ▁haus", f"{TITLE} ▁house") == {("▁der NEW", "NEW")}


def test_other_words_stay() -> None:
    for pair in (
        ("▁haus chen", "▁house"),  # the beginning of a longer word
        ("▁haus ▁haus", "▁house"),
        ("▁haus", "▁house ▁house"),
        ("▁haus", "▁dog"),
        ("▁der", "▁the"),
        ("▁,", "▁,"),
    ):
        assert replacements(*pair) == {pair}
