"""From checkpoints to an evaluation: translate a test set with each of them, score, compare, draw, write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config.run import Config
from nmt.data.splits import load_split
from nmt.evaluation import alignment, by_length, report, scores
from nmt.evaluation.alignment import AlignmentScore, WordPairs
from nmt.evaluation.learned import learned_score
from nmt.plots.labels import language_name
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs

if TYPE_CHECKING:
    from nmt.plots.style import NotebookFigure
    from nmt.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Raw text to translate and to score against. `corpus` and `split` name it in tables and figures.

    `words` are needed to draw attention; with gold links among them, `evaluate` scores it.
    """

    corpus: str
    split: str
    text: ParallelText
    words: WordPairs | None = None


def corpus_test_set(config: Config, split: str) -> TestSet:
    """A split of the corpus that a model was trained on. Raises `UserError` if there is no such split."""
    text = load_split(config.data, split)
    file = getattr(config.data.source, split) if config.data.corpus == "files" else None
    names = {"sample": "synthetic sample corpus", "multi30k": "Multi30k", "files": Path(file or config.name).name}
    languages = "→".join(language_name(side.language) for side in (config.data.source, config.data.target))
    return TestSet(f"{names[config.data.corpus]}, {languages}", split, text)


def file_test_set(source: Path, reference: Path) -> TestSet:
    """Any two files, aligned by line. Raises `UserError` if they cannot be read or have different numbers of lines."""
    return TestSet(source.name, report.NO_SPLIT, read_pairs(source, reference))


def evaluate(
    translators: Mapping[str, Translator],
    test_set: TestSet,
    *,
    languages: tuple[str, str],
    edges: Sequence[int],
    output: Path | None = None,
    search: Mapping[str, Any] | None = None,
    mechanisms: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
) -> str:
    """Evaluate every model (checkpoint → translator) on one test set; returns the table for the terminal.

    `languages` are the codes of source and target, `edges` the upper ends of the length buckets, `search` arguments of
    `Translator.translate`, `mechanisms` the names of the models' attention (checkpoint → name) in figures. With
    `output`, scores, figures and translations are written there.
    """
    by_length.check_edges(edges)
    text = test_set.text
    outputs = {name: _translate(name, one, text.source, search or {}) for name, one in translators.items()}
    lengths = by_length.source_lengths(text.source, languages[0])
    evaluations = [
        report.ModelEvaluation(
            checkpoint=name,
            split=test_set.split,
            scores=scores.score(hypotheses, text.target, languages[1]),
            by_length=by_length.bleu_by_length(hypotheses, text.target, lengths, edges),
            alignment=alignment_score(translators[name], test_set),
            mechanism=(mechanisms or {}).get(name),
            learned=tuple(learned_score(m, text.source, hypotheses, text.target, languages[1]) for m in metrics),
        )
        for name, hypotheses in outputs.items()
    ]
    comparisons = scores.compare(outputs, text.target)
    is_aligned = test_set.words is not None and test_set.words.links is not None
    table = f"{test_set.corpus}\n\n{report.table(evaluations, comparisons, alignment=is_aligned)}"
    if output is not None:
        try:
            paths = [report.write_translations(output, text, outputs)]
            paths += report.write(output, evaluations, comparisons, test_set.corpus)
        except UserError:
            print(table)  # what took so long is not lost
            raise
        table += "\n\nWritten: " + ", ".join(map(str, paths))
    return table


def _translate(name: str, translator: Translator, sentences: Sequence[str], search: Mapping[str, Any]) -> list[str]:
    precision = search.get("precision") or translator.search.precision
    precision = f"{translator.fastest_precision}, chosen by auto" if precision == "auto" else precision
    print(f"Translating {len(sentences)} sentences with {name} ({precision})", file=sys.stderr, flush=True)
    return [translation.text for translation in translator.translate(sentences, attention=False, **search)]


def check_heat_map(translators: Mapping[str, Translator], test_set: TestSet, line: int) -> None:
    """Raise `UserError` unless some model has attention and both sides of that line (from 1) have words."""
    if not any(translator.has_attention for translator in translators.values()):
        raise UserError("--heat-map: no model here has attention (model.attention.wiring: none); add one that does")
    assert test_set.words is not None
    count = len(test_set.words.source)
    if not 1 <= line <= count:
        raise UserError(f"--heat-map {line}: the test set has {count} lines; give a number from 1 to {count}")
    if not test_set.words.source[line - 1] or not test_set.words.target[line - 1]:
        raise UserError(f"--heat-map {line}: a side of that line has no words; choose another line")


def heat_maps(
    translators: Mapping[str, Translator],
    test_set: TestSet,
    line: int,
    *,
    languages: tuple[str, str],
    mechanisms: Mapping[str, str] | None = None,
) -> list[NotebookFigure]:
    """Draw the attention of all models that have any to the reference of one line (from 1), a few to a figure.

    `check_heat_map` has accepted the line. The models (checkpoint → translator) are shown by word; gold links, if
    `test_set.words` has them, are outlined. `languages` and `mechanisms` are those of `evaluate`.
    """
    from nmt.plots import heat_map

    assert test_set.words is not None
    one = slice(line - 1, line)
    text = ParallelText(test_set.text.source[one], test_set.text.target[one])
    words = WordPairs(test_set.words.source[one], test_set.words.target[one])
    names = [report.shortened(name, 30) for name in report.display_names(list(translators))]
    titles = report.legend([(mechanisms or {}).get(name) for name in translators], names)
    models = [(title, t) for title, t in zip(titles, translators.values(), strict=True) if t.has_attention]
    gold = None if test_set.words.links is None else test_set.words.links[line - 1]
    return heat_map.heat_maps(
        [weights for _, translator in models for weights in alignment.attend_words(translator, text, words)],
        words.source[0],
        words.target[0],
        titles=[title for title, _ in models],
        heading="Attention to the reference translation",
        subheading=f"{report.described(test_set.corpus, test_set.split)}, line {line}",
        source_label=f"{language_name(languages[0])} (source)",
        target_label=f"{language_name(languages[1])} (reference)",
        sure=gold.sure if gold else (),
        possible=gold.possible if gold else (),
    )


def write_heat_maps(figures: Sequence[NotebookFigure], line: int, folder: Path) -> list[Path]:
    """Write figures as `attention_LINE.png` and `.svg`, further ones as `attention_LINE_2.png`, …; return the paths."""
    from nmt.plots.style import save

    numbers = ["", *(f"_{number}" for number in range(2, len(figures) + 1))]
    paths = {
        folder / f"attention_{line}{number}.{suffix}": figure
        for (number, figure), suffix in product(zip(numbers, figures, strict=True), ("png", "svg"))
    }
    for path, figure in paths.items():
        save(figure, path)
    return list(paths)


def alignment_score(translator: Translator, test_set: TestSet) -> AlignmentScore | None:
    """The score of a model's attention against the test set's gold links; None without either of them."""
    if not translator.has_attention or test_set.words is None or test_set.words.links is None:
        return None
    links = [alignment.best_links(w) for w in alignment.attend_words(translator, test_set.text, test_set.words)]
    return alignment.score_alignment(links, test_set.words.links)


def check_same_languages(configs: Mapping[str, Config]) -> None:
    """Raise `UserError` unless all checkpoints translate from one language to one other."""
    _check_same(configs, ["source.language", "target.language"], "evaluate them separately")


def check_same_corpus(configs: Mapping[str, Config], split: str) -> None:
    """Raise `UserError` unless all checkpoints were trained on one corpus, so that its `split` means one thing."""
    paths = [f"source.{split}", f"target.{split}"] if split in ("train", "validation", "test") else []
    _check_same(configs, ["corpus", *paths], "name the text by --source FILE --reference FILE")


def _check_same(configs: Mapping[str, Config], fields: Sequence[str], advice: str) -> None:
    (first, config), *others = configs.items()
    for (checkpoint, other), field in product(others, fields):
        one, two = attrgetter(field)(config.data), attrgetter(field)(other.data)
        if one != two:
            raise UserError(f"{first} and {checkpoint} differ in data.{field} ({one}, {two}): {advice}")
