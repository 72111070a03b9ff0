"""The pictures of the page: BLEU by source length, alignment errors, and attention to one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.checkpoints import TestSet, heat_maps
from nmt.evaluation.mechanisms import is_plain, mechanism
from nmt.evaluation.report import described, legend
from nmt.lab.result import Result, best_of
from nmt.translator import Translator

if TYPE_CHECKING:
    from nmt.plots.style import NotebookFigure

MOST_CURVES = 7  # in one picture; of more models, the scores and the variants get a picture each
HEAT_MAP_WORDS = 16  # of the source sentence whose heat maps are drawn, or as near as there is: four fit on a page
HEAT_MAPS = "Attention to the reference of one test sentence"
Pictures = dict[str, tuple[str, bytes]]  # file name → alternative text and content


def pictures(results: Sequence[Result], test_set: TestSet, page: Path) -> Pictures:
    """Draw everything that these results show.

    Heat maps need the models. The page's folder keeps those of an earlier page where one of the models is not here.
    """
    attentive = [result for result in results if result.config.model.attention.wiring != "none"]
    here = [result for result in attentive if best_of(result.config).exists()]
    kept = _kept_heat_maps(page) if len(here) < len(attentive) else {}
    return {
        **_curve_pictures(results, test_set),
        **_error_picture(results, test_set),
        **(kept or _heat_map_pictures(here, test_set)),
    }


def _curve_pictures(results: Sequence[Result], test_set: TestSet) -> Pictures:
    from nmt.plots.curves import bleu_by_length
    from nmt.plots.style import render

    where = described(test_set.corpus, test_set.split)
    plain = [result for result in results if is_plain(result.config.model)]
    others = [result for result in results if result not in plain]
    if len(results) <= MOST_CURVES or not plain or not others:
        groups: dict[str, tuple[str, Sequence[Result]]] = {"bleu_by_length.png": ("", results)}
    else:
        without = [result for result in plain if result.config.model.attention.wiring == "none"]
        groups = {
            "bleu_by_length.png": (": scores, with global scope", plain),
            "bleu_by_length_variants.png": (": local scopes and variants", [*without, *others]),
        }
    content: Pictures = {}
    for file, (kind, drawn) in groups.items():
        title = f"BLEU by source length{kind}"
        curves = [result.by_length for result in drawn]
        picture = bleu_by_length(_titles(drawn), curves, title=title, subtitle=where, case=results[0].case)
        content[file] = (f"{title}, with 95 % intervals", render(picture, "png"))
    return content


def _error_picture(results: Sequence[Result], test_set: TestSet) -> Pictures:
    from nmt.plots.style import render

    titles = dict(zip((result.name for result in results), _titles(results), strict=True))
    errors = {titles[r.name]: error_percent(r.alignment) for r in results if r.alignment is not None}
    if not errors:
        return {}
    ordered = sorted(errors, key=lambda name: errors[name])
    picture = _intervals(
        ordered,
        [errors[name] for name in ordered],
        title="Alignment error rate of the attention to the reference",
        subtitle=described(test_set.corpus, test_set.split),
        label="alignment error rate in percent, with 95 % bootstrap interval; lower is better",
    )
    return {"alignment_error.png": ("Alignment error rate, with 95 % intervals", render(picture, "png"))}


def _intervals(
    names: Sequence[str], values: Sequence[tuple[float, float, float]], *, title: str, subtitle: str = "", label: str
) -> NotebookFigure:
    """Draw a value with its interval (value, low, high) for each name, from the top down; `label` names the values."""
    from nmt.plots.curves import add_axes
    from nmt.plots.style import COLOURS, MARKERS, WIDTH, drawing, fix_layout, new_figure

    with drawing():
        figure, body = new_figure(WIDTH, 1.9 + 0.3 * len(names), title, subtitle)
        axes = add_axes(body, "x")
        for row, (value, low, high) in enumerate(values):
            axes.plot([low, high], [row, row], color=COLOURS[0], linewidth=2.2, solid_capstyle="butt")
            axes.plot(value, row, MARKERS[0], color=COLOURS[0], markersize=7)
        axes.set_yticks(range(len(names)), names)
        axes.set(xlim=(0.0, None), ylim=(len(names) - 0.5, -0.5), xlabel=label)
        fix_layout(figure)
    return figure


def _kept_heat_maps(page: Path) -> Pictures:
    files = sorted(page.glob("heat_maps*.png"), key=lambda path: (len(path.name), path.name))  # _10 behind _9
    return {file.name: (HEAT_MAPS, file.read_bytes()) for file in files}


def _heat_map_pictures(results: Sequence[Result], test_set: TestSet) -> Pictures:
    from nmt.plots.style import render

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
    return {name: (HEAT_MAPS, render(picture, "png")) for name, picture in zip(names, drawn, strict=True)}


def _titles(results: Sequence[Result]) -> list[str]:
    """What pictures call each result: its mechanism, with the run's name where two share one."""
    return legend([mechanism(result.config.model) for result in results], [r.name for r in results])


def error_percent(score: AlignmentScore) -> tuple[float, float, float]:
    """The alignment error rate and the ends of its interval."""
    return 100 * score.error_rate, 100 * score.ci_low, 100 * score.ci_high


def _heat_map_line(test_set: TestSet) -> int | None:
    """The line, from 1, of the pair whose source is nearest to `HEAT_MAP_WORDS` long: the first one of equals.

    Both of its sides have words; None if there is no such pair.
    """
    assert test_set.words is not None
    pairs = enumerate(zip(test_set.words.source, test_set.words.target, strict=True), start=1)
    lengths = {line: len(source) for line, (source, target) in pairs if source and target}
    return min(lengths, key=lambda line: abs(lengths[line] - HEAT_MAP_WORDS), default=None)
