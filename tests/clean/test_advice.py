"""What is reported of a training text before training."""

from pathlib import Path

import pytest
from support.texts import data_config

from nmt.clean.advice import advice
from nmt.config.data import DataConfig
from nmt.data.splits import load_split
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText

SAMPLE = load_split(DataConfig(), "train")
DE, EN = SAMPLE.source[:300], SAMPLE.target[:300]
FRENCH = ["Le chien court dans la rue avec les enfants.", "Elle ne veut pas aller à la maison ce soir."] * 150


def of_text(folder: Path, source: list[str], target: list[str], *held_out: list[str]) -> list[str]:
    config = data_config(folder, ParallelText(source, target), "whitespace")
    sides = {}
    for (name, side), lines in zip(config.sides, held_out or (["neu"], ["new"]), strict=True):
        path = folder / f"validation.{name}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        sides[name] = side.model_copy(update={"validation": str(path)})
    return list(advice(load_training_set(config.model_copy(update=sides))))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (DE, EN, ""),
        (EN, DE, "sides look swapped: the source looks like en, the target like de: exchange"),
        (FRENCH, EN, "data.source.language is de, but the text looks like fr: set it to fr"),
        (DE, FRENCH, "data.target.language is en, but the text looks like fr"),
        (DE, DE[:30] + EN[30:], "10 of 100 sampled pairs have the same text on both sides"),
        (DE[:99], EN[:99], "only 99 training pairs"),
        ([f'{n},"{de}",{en}' for n, (de, en) in enumerate(zip(DE, EN, strict=True))], EN, "rows of a table"),
        (
            DE,
            [f"{de}\t{en}" for de, en in zip(DE, EN, strict=True)],
            "text.en: 150 of 150 sampled lines look like rows",
        ),
        (
            [f"<tuv xml:lang='de'><seg>{de}</seg></tuv>" for de in DE],
            EN,
            "text.de: 100 of 100 sampled lines look like rows",
        ),
        ([de if n % 2 else f"{de}\t1" for n, de in enumerate(DE)], EN, ""),
    ],
)
def test_each_problem_is_named(tmp_path: Path, source: list[str], target: list[str], message: str) -> None:
    lines = of_text(tmp_path, source, target)
    assert [message in line for line in lines] == [True] * bool(message), lines


def test_held_out_pairs_in_the_training_text_are_counted(tmp_path: Path) -> None:
    source = [f"  {line.lower()}" for line in DE[:7]] + ["neu", " "]
    [line] = of_text(tmp_path, DE, EN, source, [*EN[:5], "other", "another", "new", " "])
    assert "5 of 9 validation pairs are in the training text, 2 more with another translation" in line


def test_the_bundled_text_has_no_such_problem(tmp_path: Path) -> None:
    config = DataConfig(folder=str(tmp_path))
    assert list(advice(load_training_set(config))) == []
