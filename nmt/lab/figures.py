"""The figures of the page: BLEU by source length, and attention to one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.patches import Rectangle

from nmt.evaluation.alignment import Links, WordPairs, attend_words
from nmt.evaluation.checkpoints import TestSet
from nmt.evaluation.report import described
from nmt.lab.mechanisms import is_plain, mechanism
from nmt.lab.result import Result, best_of
from nmt.plots import curves
from nmt.plots.heat_map import heat_maps
from nmt.plots.style import COLOURS, NotebookFigure, render
from nmt.text.corpus import ParallelText
from nmt.text.language import language_name
from nmt.translator import Translator

MOST_CURVES = 7  # in one figure; of more models, the scores and the variants get a figure each
HEAT_MAP_WORDS = 16  # of the source sentence whose heat maps are drawn, or as near as there is: four fit on a page
HEAT_MAPS = "Attention to the reference of one test sentence"
Figures = dict[str, tuple[str, bytes]]  # file name → alternative text and content


def figures(results: Sequence[Result], test_set: TestSet, page: Path) -> Figures:
    """Draw everything that these results show.

    Heat maps need the models. The page's folder keeps those of an earlier page where one of the models is not here.
    """
    attentive = [result for result in results if result.config.model.attention.wiring != "none"]
    local = [result for result in attentive if best_of(result.config).exists()]
    kept: Figures = {}
    if len(local) < len(attentive):
        files = sorted(page.glob("heat_maps*.png"), key=lambda path: (len(path.name), path.name))  # _10 behind _9
        kept = {file.name: (HEAT_MAPS, file.read_bytes()) for file in files}
    return _curve_figures(results, test_set) | (kept or _heat_map_figures(local, test_set))


def _curve_figures(results: Sequence[Result], test_set: TestSet) -> Figures:
    where = described(test_set.corpus, test_set.split)
    plain = [result for result in results if is_plain(result.config.model)]
    variants = [result for result in results if result not in plain]
    if len(results) <= MOST_CURVES or not plain or not variants:
        groups: dict[str, tuple[str, Sequence[Result]]] = {"bleu_by_length.png": ("", results)}
    else:
        without = [result for result in plain if result.config.model.attention.wiring == "none"]
        groups = {
            "bleu_by_length.png": (": scores, with global scope", plain),
            "bleu_by_length_variants.png": (": local scopes and variants", [*without, *variants]),
        }
    content: Figures = {}
    for file, (kind, drawn) in groups.items():
        title = f"BLEU by source length{kind}"
        buckets = [result.by_length for result in drawn]
        figure = curves.bleu_by_length(_titles(drawn), buckets, title=title, subtitle=where, case=results[0].case)
        content[file] = (f"{title}, with 95 % intervals", render(figure, "png"))
    return content


def _heat_map_figures(results: Sequence[Result], test_set: TestSet) -> Figures:
    attentive = sorted(results, key=lambda result: not is_plain(result.config.model))  # scores first, then variants
    line = _heat_map_line(test_set)
    if not attentive or line is None:
        return {}
    assert test_set.words is not None
    one = slice(line - 1, line)
    text = ParallelText(test_set.text.source[one], test_set.text.target[one])
    words = WordPairs(test_set.words.source[one], test_set.words.target[one])
    gold = Links(frozenset(), frozenset()) if test_set.words.links is None else test_set.words.links[line - 1]
    config = attentive[0].config
    models = (Translator.load(best_of(result.config), device=config.training.device) for result in attentive)
    drawn = heat_maps(
        [weights for model in models for weights in attend_words(model, text, words)],
        words.source[0],
        words.target[0],
        titles=_titles(attentive),
        heading="Attention to the reference translation",
        subheading=f"{described(test_set.corpus, test_set.split)}, line {line}; gold links are outlined",
        source_label=f"{language_name(config.data.source.language)} (source)",
        target_label=f"{language_name(config.data.target.language)} (reference)",
    )
    for figure in drawn:
        _outline(figure, gold)
    names = ["heat_maps.png", *(f"heat_maps_{number}.png" for number in range(2, len(drawn) + 1))]
    return {name: (HEAT_MAPS, render(figure, "png")) for name, figure in zip(names, drawn, strict=True)}


def _outline(figure: NotebookFigure, gold: Links) -> None:
    """Outline the gold links (source, target) in each panel; the last axes are those of the colour bar."""
    for axes, (s, t) in product(figure.axes[:-1], sorted(gold.possible)):
        dashes: Any = "-" if (s, t) in gold.sure else (0, (2, 1.5))
        inside = (s + 0.08, t + 0.08)  # or neighbours would share a line
        axes.add_patch(Rectangle(inside, 0.84, 0.84, fill=False, edgecolor=COLOURS[1], linewidth=1.5, linestyle=dashes))


def _titles(results: Sequence[Result]) -> list[str]:
    """What figures call each result: its mechanism, with the run's name where two share one."""
    names = [mechanism(result.config.model) for result in results]
    return [n if names.count(n) == 1 else f"{n} ({result.name})" for n, result in zip(names, results, strict=True)]


def _heat_map_line(test_set: TestSet) -> int | None:
    """The line, from 1, of the pair whose source is nearest to `HEAT_MAP_WORDS` long: the first one of equals.

    Both of its sides have words; None if there is no such pair.
    """
    assert test_set.words is not None
    pairs = enumerate(zip(test_set.words.source, test_set.words.target, strict=True), start=1)
    lengths = {line: len(source) for line, (source, target) in pairs if source and target}
    return min(lengths, key=lambda line: abs(lengths[line] - HEAT_MAP_WORDS), default=None)
