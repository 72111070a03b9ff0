"""From checkpoints to an evaluation: translate a test set with each of them, score, compare, write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.config import Config
from nmt.data.corpus import ParallelText, read_pairs
from nmt.data.splits import load_split
from nmt.errors import UserError
from nmt.evaluation import by_length, metrics, report

if TYPE_CHECKING:
    from nmt.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Raw text to translate and to score against. `corpus` and `split` are what tables and pictures call it."""

    corpus: str
    split: str
    text: ParallelText


def corpus_test_set(config: Config, split: str) -> TestSet:
    """A split of the corpus that a model was trained on. Raises `UserError` if there is no such split."""
    names = {"sample": "synthetic sample corpus", "multi30k": "Multi30k", "files": config.name}
    languages = f"{config.data.source.language}→{config.data.target.language}"
    return TestSet(f"{names[config.data.corpus]}, {languages}", split, load_split(config.data, split))


def file_test_set(source: Path, reference: Path) -> TestSet:
    """Any two files, aligned by line. Raises `UserError` if they cannot be read or do not fit."""
    return TestSet(source.name, "given", read_pairs(source, reference))


def evaluate(
    translators: dict[str, Translator],
    test_set: TestSet,
    *,
    languages: tuple[str, str],
    edges: Sequence[int],
    output: Path | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
) -> str:
    """Evaluate every model (checkpoint → translator) on one test set; returns the table for the terminal.

    `languages` are the source's and the target's codes, `edges` the upper ends of the length buckets. With `output`,
    `evaluation.json` and `bleu_by_length.{csv,png,svg}` are written there. None is a checkpoint's own setting.
    """
    by_length.check_edges(edges)
    outputs = {}
    for checkpoint, translator in translators.items():
        print(f"Translating {len(test_set.text.source)} sentences with {checkpoint}", file=sys.stderr, flush=True)
        translations = translator.translate(
            test_set.text.source, beam_size=beam_size, length_penalty=length_penalty, attention=False
        )
        outputs[checkpoint] = [translation.text for translation in translations]
    source_language, target_language = languages
    evaluations = report.evaluate_outputs(
        outputs,
        test_set.text.source,
        test_set.text.target,
        split=test_set.split,
        source_language=source_language,
        target_language=target_language,
        edges=edges,
    )
    comparisons = metrics.compare(outputs, test_set.text.target)
    table = f"{test_set.corpus}\n\n{report.table(evaluations, comparisons)}"
    if output is not None:
        paths = report.write(output, evaluations, comparisons, test_set.corpus)
        table += "\n\nWritten: " + ", ".join(map(str, paths))
    return table


def check_same_corpus(configs: dict[str, Config]) -> None:
    """Raise `UserError` unless all checkpoints were trained on one corpus, so that "its test set" means one thing."""
    (first, first_config), *others = configs.items()
    for checkpoint, config in others:
        for field in ("corpus", "source.language", "target.language", "source.test", "target.test"):
            values = []
            for data in (first_config.data, config.data):
                value: object = data
                for part in field.split("."):
                    value = getattr(value, part)
                values.append(value)
            if values[0] != values[1]:
                raise UserError(
                    f"{first} and {checkpoint} differ in data.{field} ({values[0]}, {values[1]}): "
                    "name the text by --source FILE --reference FILE"
                )
