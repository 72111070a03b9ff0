"""From checkpoints to an evaluation: translate a test set with each of them, score, compare, draw, write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from nmt.config.run import Config
from nmt.data.splits import load_split
from nmt.evaluation import alignment, by_length, report, scores, translations
from nmt.evaluation.alignment import AlignmentScore, WordPairs
from nmt.plots.labels import language_name
from nmt.registry import WantedPrecision
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs

if TYPE_CHECKING:
    from nmt.plots.style import NotebookFigure
    from nmt.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Raw text to translate and to score against. `corpus` and `split` are what tables and pictures call it.

    `words` are needed to draw attention; with gold links among them, `evaluate` scores it.
    """

    corpus: str
    split: str
    text: ParallelText
    words: WordPairs | None = None


def corpus_test_set(config: Config, split: str) -> TestSet:
    """A split of the corpus that a model was trained on. Raises `UserError` if there is no such split.

    A corpus of files is called by the name of the split's source file.
    """
    text = load_split(config.data, split)
    file = getattr(config.data.source, split) if config.data.corpus == "files" else None
    names = {"sample": "synthetic sample corpus", "multi30k": "Multi30k", "files": Path(file or config.name).name}
    languages = "→".join(language_name(side.language) for side in (config.data.source, config.data.target))
    return TestSet(f"{names[config.data.corpus]}, {languages}", split, text)


def file_test_set(source: Path, reference: Path) -> TestSet:
    """Any two files, aligned by line. Raises `UserError` if they cannot be read or have different numbers of lines."""
    return TestSet(source.name, report.GIVEN, read_pairs(source, reference))


def evaluate(
    translators: dict[str, Translator],
    test_set: TestSet,
    *,
    languages: tuple[str, str],
    edges: Sequence[int],
    output: Path | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    precision: WantedPrecision | None = None,
    vocabulary_selection: bool | None = None,
    mechanisms: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
) -> str:
    """Evaluate every model (checkpoint → translator) on one test set; returns the table for the terminal.

    `languages` are the codes of source and target, `edges` the upper ends of the length buckets, `mechanisms` the names
    of the models' attention (checkpoint → name) in pictures, `metrics` those of `nmt.evaluation.learned`. With
    `output`, scores, pictures and translations are written there. None: a checkpoint's own setting.
    """
    by_length.check_edges(edges)
    aligned = test_set.words is not None and test_set.words.links is not None
    outputs, alignments = {}, {}
    search = {"beam_size": beam_size, "length_penalty": length_penalty, "vocabulary_selection": vocabulary_selection}
    for checkpoint, translator in translators.items():
        outputs[checkpoint] = _translated(checkpoint, translator, test_set.text.source, precision, search)
        alignments[checkpoint] = alignment_score(translator, test_set) if aligned else None
    evaluations = report.evaluate_outputs(
        outputs,
        test_set.text.source,
        test_set.text.target,
        split=test_set.split,
        source_language=languages[0],
        target_language=languages[1],
        edges=edges,
        alignments=alignments,
        mechanisms=mechanisms,
        metrics=metrics,
    )
    comparisons = scores.compare(outputs, test_set.text.target)
    table = f"{test_set.corpus}\n\n{report.table(evaluations, comparisons, alignment=aligned)}"
    if output is not None:
        try:
            paths = [translations.write(output, test_set.text, outputs)]
            paths += report.write(output, evaluations, comparisons, test_set.corpus)
        except UserError:
            print(table)  # what took so long is not lost
            raise
        table += "\n\nWritten: " + ", ".join(map(str, paths))
    return table


def _translated(
    checkpoint: str,
    translator: Translator,
    sentences: Sequence[str],
    precision: WantedPrecision | None,
    search: Mapping[str, Any],
) -> list[str]:
    asked = precision or translator.search.precision
    products = f"{translator.fastest_precision}, chosen by auto" if asked == "auto" else asked
    print(f"Translating {len(sentences)} sentences with {checkpoint} ({products})", file=sys.stderr, flush=True)
    found = translator.translate(sentences, precision=precision, attention=False, **search)
    return [translation.text for translation in found]


def check_heat_map(translators: dict[str, Translator], test_set: TestSet, line: int) -> None:
    """Raise `UserError` unless some model has attention and both sides of that line (from 1) have words."""
    if not any(translator.has_attention for translator in translators.values()):
        raise UserError("--heat-map: no model here has attention (model.attention.wiring: none); add one that does")
    assert test_set.words is not None
    count = len(test_set.words.source)
    if not 1 <= line <= count:
        raise UserError(f"--heat-map {line}: the test set has {count} lines; give a number from 1 to {count}")
    if not test_set.words.source[line - 1] or not test_set.words.target[line - 1]:
        raise UserError(f"--heat-map {line}: a side of that line has no words; choose another line")


def draw_heat_map(
    translators: dict[str, Translator],
    test_set: TestSet,
    line: int,
    output: Path,
    *,
    languages: tuple[str, str],
    mechanisms: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write the pictures of `heat_maps` as `attention_LINE.png` and `.svg`, further ones as `attention_LINE_2.png`, …

    Returns their paths. Raises `UserError` where `check_heat_map` does, and where a picture cannot be written.
    """
    from nmt.plots.style import save

    drawn = heat_maps(translators, test_set, line, languages=languages, mechanisms=mechanisms)
    paths = []
    for number, picture in enumerate(drawn, start=1):
        for suffix in ("png", "svg"):
            paths.append(output / f"attention_{line}{'' if number == 1 else f'_{number}'}.{suffix}")
            save(picture, paths[-1])
    return paths


def heat_maps(
    translators: dict[str, Translator],
    test_set: TestSet,
    line: int,
    *,
    languages: tuple[str, str],
    mechanisms: Mapping[str, str] | None = None,
) -> list[NotebookFigure]:
    """Draw the attention of all models that have any to the reference of one line (from 1), a few to a picture.

    The models (checkpoint → translator) are shown by word; gold links, if `test_set.words` has them, are outlined.
    `languages` and `mechanisms` are those of `evaluate`. Raises `UserError` where `check_heat_map` does.
    """
    from nmt.plots import heat_map

    check_heat_map(translators, test_set, line)
    assert test_set.words is not None
    text = ParallelText([test_set.text.source[line - 1]], [test_set.text.target[line - 1]])
    words = WordPairs([test_set.words.source[line - 1]], [test_set.words.target[line - 1]])
    kinds = [None if mechanisms is None else mechanisms.get(name) for name in translators]
    names = [report.shortened(name, 30) for name in report.display_names(list(translators))]
    titles: list[str] = []
    matrices: list[Float[np.ndarray, "T S"]] = []
    for title, translator in zip(report.legend(kinds, names), translators.values(), strict=True):
        if translator.has_attention:
            titles.append(title)
            matrices += alignment.attend_words(translator, text, words)
    gold = None if test_set.words.links is None else test_set.words.links[line - 1]
    source, target = map(language_name, languages)
    return heat_map.heat_maps(
        matrices,
        words.source[0],
        words.target[0],
        titles=titles,
        heading="Attention to the reference translation",
        subheading=f"{report.described(test_set.corpus, test_set.split)}, line {line}",
        source_label=f"{source} (source)",
        target_label=f"{target} (reference)",
        sure=gold.sure if gold else (),
        possible=gold.possible if gold else (),
    )


def alignment_score(translator: Translator, test_set: TestSet) -> AlignmentScore | None:
    """The score of a model's attention against the test set's gold links, None for a model without attention."""
    if not translator.has_attention or test_set.words is None or test_set.words.links is None:
        return None
    found = [alignment.best_links(w) for w in alignment.attend_words(translator, test_set.text, test_set.words)]
    return alignment.score_alignment(found, test_set.words.links)


def check_same_languages(configs: Mapping[str, Config]) -> None:
    """Raise `UserError` unless all checkpoints translate from one language to one other."""
    found = {path: (config.data.source.language, config.data.target.language) for path, config in configs.items()}
    (first, expected), *others = found.items()
    for path, languages in others:
        if languages != expected:
            one, other = "→".join(expected), "→".join(languages)
            raise UserError(f"{first} translates {one}, and {path} {other}: evaluate them apart")


def check_same_corpus(configs: dict[str, Config], split: str) -> None:
    """Raise `UserError` unless all checkpoints were trained on one corpus, so that its `split` means one thing."""
    (first, first_config), *others = configs.items()
    fields = ["corpus"]
    if split in ("train", "validation", "test"):
        fields += [f"source.{split}", f"target.{split}"]
    for checkpoint, config in others:
        for field in fields:
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
