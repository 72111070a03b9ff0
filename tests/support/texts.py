"""Training sets of made-up text, and where the sample corpus lies."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config.data import DataConfig
from nmt.data.batching import Example
from nmt.data.store import Rows
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.text.corpus import ParallelText

LANGUAGES = ("de", "en")
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
WORDS = ["".join(syllables) for syllables in itertools.product(["hun", "de", "ro", "ten", "las"], repeat=2)]
MORE = [" ".join(WORDS[number::7]) for number in range(7)]  # enough for subwords
TEXT = ParallelText(
    [
        "Ein Hund läuft.",
        "",
        "Don't!\u2028Zwei\u0085Hunde, ▁ 🐕‍🦺…",
        "ein hund ein Hund",
        "<eos> <unk>",
        "a b c d e f",
        *MORE,
    ],
    ["A dog runs.", "nothing", "Two\u2028dogs — two…", " \t", "a dog a dog", "a", *reversed(MORE)],
)
KINDS = [("spacy", None), ("sentencepiece", 36), ("whitespace", None), ("char", None)]


def data_config(
    folder: Path, text: ParallelText, tokenizer: str, size: int | None = None, *, joint: bool = False, **both: Any
) -> DataConfig:
    """A config for the text, which is written into the folder; `both` are fields of both sides."""
    sides = {}
    for name, language, lines in (("source", "de", text.source), ("target", "en", text.target)):
        path = folder / f"text.{language}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths = {"train": str(path), "validation": str(path)}
        sides[name] = {"language": language, "tokenizer": tokenizer, "vocabulary_size": size, **paths, **both}
    values = {"corpus": "files", "folder": str(folder), "joint_vocabulary": joint, **sides}
    return DataConfig.model_validate(values)


def write_part_of_sample(folder: Path, **counts: int) -> Path:
    """The first lines of the sample corpus, with so many of each split, in `folder`/sample."""
    part = folder / "sample"
    part.mkdir(parents=True)
    for split, count in counts.items():
        for ending in (*LANGUAGES, "align"):
            lines = (SAMPLE / f"{split}.{ending}").read_text(encoding="utf-8").split("\n")[:count]
            (part / f"{split}.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (part / "README.md").touch()  # the last that is written: the corpus is whole
    return part


def learn(folder: Path, text: ParallelText, tokenizer: str, size: int | None = None, **more: Any) -> TrainingSet:
    return load_training_set(data_config(folder, text, tokenizer, size, **more))


def rows_of(sentences: Iterable[Sequence[int]]) -> Rows:
    """Sentences of ids as a store has them."""
    lists = list(sentences)
    ids = np.array(list(itertools.chain.from_iterable(lists)), dtype=np.int32)
    return Rows(ids, np.array(list(map(len, lists)), dtype=np.int32))


def everything(pairs: TrainingSet) -> list[Example]:
    return pairs.examples(range(len(pairs)), "0")
