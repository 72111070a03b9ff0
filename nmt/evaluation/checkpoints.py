"""From checkpoints to an evaluation: translate a test set with each of them, score, compare, write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt import acceleration, addons
from nmt.config.run import Config
from nmt.data.splits import SPLITS, load_split
from nmt.decoding.word_alignment import best_links
from nmt.evaluation import alignment, by_length, report, scores
from nmt.evaluation.alignment import AlignmentScore, WordPairs
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs
from nmt.text.language import language_name

if TYPE_CHECKING:
    from nmt.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Raw text to translate and to score against, and its names in tables. `words` may have gold links."""

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


def file_test_set(source: Path, reference: Path, languages: tuple[str, str]) -> TestSet:
    """Any two files, aligned by line. Raises `UserError` if they cannot be read or have different numbers of lines."""
    return TestSet(source.name, report.NO_SPLIT, read_pairs(source, reference, languages))


def evaluate(
    translators: Mapping[str, Translator],
    test_set: TestSet,
    *,
    languages: tuple[str, str],
    edges: Sequence[int],
    output: Path | None = None,
    search: Mapping[str, Any] | None = None,
) -> str:
    """Evaluate every model (checkpoint → translator) on one test set; returns the table for the terminal.

    `languages` are the codes of source and target, `edges` the upper ends of the length buckets, `search` arguments of
    `Translator.translate`. With `output`, scores, figures and translations are written there.
    """
    text, room = test_set.text, addons.offered("attention_statistics")
    outputs = {name: _translate(name, one, text.source, search or {}) for name, one in translators.items()}
    lengths = by_length.source_lengths(text.source, languages[0])
    evaluations = [
        report.ModelEvaluation(
            checkpoint=name,
            split=test_set.split,
            scores=scores.score(hypotheses, text.target, languages[1]),
            by_length=by_length.bleu_by_length(hypotheses, text.target, lengths, edges, language=languages[1]),
            alignment=alignment_score(translators[name], test_set),
            attention=None if room is None else room.statistics(translators[name], text),
        )
        for name, hypotheses in outputs.items()
    ]
    comparisons = scores.compare(outputs, text.target, target_language=languages[1])
    table = f"{test_set.corpus}\n\n{report.table(evaluations, comparisons)}"
    table += "" if room is None else room.table(evaluations)
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
    resolved = acceleration.resolve_precision(precision, translator.model.device, "search", fast=translator.fast)
    precision = resolved if precision != "auto" else f"{resolved}, chosen by auto"
    print(f"Translating {len(sentences)} sentences with {name} ({precision})", file=sys.stderr, flush=True)
    return [translation.text for translation in translator.translate(sentences, attention=False, **search)]


def alignment_score(translator: Translator, test_set: TestSet) -> AlignmentScore | None:
    """The score of a model's attention against the test set's gold links; None without either of them."""
    if not translator.has_attention or test_set.words is None or test_set.words.links is None:
        return None
    weights = alignment.attend_words(translator, test_set.text, test_set.words)
    links = [best_links(of_pair, translator.guided) for of_pair in weights]
    return alignment.score_alignment(links, test_set.words.links)


def check_comparable(configs: Mapping[str, Config], split: str | None) -> None:
    """Raise `UserError` unless all checkpoints are of the same two languages, and of one corpus if a split is named."""
    advice = dict.fromkeys(("source.language", "target.language"), "evaluate them separately")
    if split is not None:
        files = (f"source.{split}", f"target.{split}") if split in SPLITS else ()
        advice |= dict.fromkeys(("corpus", *files), "name the text by --source FILE --reference FILE")
    (first, config), *others = configs.items()
    for (checkpoint, other), field in product(others, advice):
        one, two = attrgetter(field)(config.data), attrgetter(field)(other.data)
        if one != two:
            raise UserError(f"{first} and {checkpoint} differ in data.{field} ({one}, {two}): {advice[field]}")
