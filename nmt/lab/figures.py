"""The figures of the page: BLEU by source length, and attention to one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmt.evaluation.checkpoints import TestSet, heat_maps
from nmt.evaluation.mechanisms import is_plain, mechanism
from nmt.evaluation.report import described, legend
from nmt.lab.result import Result, best_of
from nmt.plots import curves
from nmt.plots.style import render
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
    config = attentive[0].config
    paths = {str(best_of(result.config)): result for result in attentive}
    drawn = heat_maps(
        {path: Translator.load(path, device=config.training.device) for path in paths},
        test_set,
        line,
        languages=(config.data.source.language, config.data.target.language),
        mechanisms=dict(zip(paths, _titles(attentive), strict=True)),
    )
    names = ["heat_maps.png", *(f"heat_maps_{number}.png" for number in range(2, len(drawn) + 1))]
    return {name: (HEAT_MAPS, render(figure, "png")) for name, figure in zip(names, drawn, strict=True)}


def _titles(results: Sequence[Result]) -> list[str]:
    """What figures call each result: its mechanism, with the run's name where two share one."""
    return legend([mechanism(result.config.model) for result in results], [r.name for r in results])


def _heat_map_line(test_set: TestSet) -> int | None:
    """The line, from 1, of the pair whose source is nearest to `HEAT_MAP_WORDS` long: the first one of equals.

    Both of its sides have words; None if there is no such pair.
    """
    assert test_set.words is not None
    pairs = enumerate(zip(test_set.words.source, test_set.words.target, strict=True), start=1)
    lengths = {line: len(source) for line, (source, target) in pairs if source and target}
    return min(lengths, key=lambda line: abs(lengths[line] - HEAT_MAP_WORDS), default=None)
