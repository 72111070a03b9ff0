"""BLEU by source length as curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from nmt.plots.style import COLOURS, MARKERS, QUIET, WIDTH, NotebookFigure, drawing, fix_layout, new_figure

Point = Any  # a bucket of lengths with the fields label, count, bleu, ci_low, ci_high


def bleu_by_length(
    names: Sequence[str], curves: Sequence[Sequence[Point]], *, title: str, subtitle: str = "", case: str = "cased"
) -> NotebookFigure:
    """Draw each model's BLEU, which is `case`, against the source length, as in Bahdanau et al. (2015, figure 2).

    There is one curve per name, all with the same buckets of length (`nmt.evaluation.by_length.Bucket`). Bands are the
    95 % intervals, bars where a point has no neighbour.
    """
    with drawing():
        figure, body = new_figure(WIDTH, 4.9 + 0.12 * len(names), title, subtitle)
        axes = body.add_subplot()
        axes.tick_params(length=0)
        axes.grid(axis="y", linewidth=0.8)
        axes.spines[["left", "top", "right"]].set_visible(False)
        lines = [  # the first models lie on top: as a rule those that the others are compared with
            _draw_curve(axes, points, colour, marker, 4 - order / len(names))
            for order, (points, colour, marker) in enumerate(zip(curves, cycle(COLOURS), cycle(MARKERS), strict=False))
        ]
        labels = [f"{point.label.replace('-', '–')}\nn = {point.count:,}" for point in curves[0]]
        axes.set_xticks(range(len(labels)), labels)
        axes.set_ylabel(f"BLEU (sacreBLEU, {case})", color=QUIET)
        highest = max(10.0, axes.dataLim.y1 - 1e-6)  # sacreBLEU gives 100.00000000000004 for a perfect score
        axes.yaxis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 2.5, 5, 10]))
        ticks = axes.yaxis.get_major_locator().tick_values(0.0, highest)
        axes.set_ylim(0.0, next((tick for tick in ticks if tick >= highest), highest))
        notes = "bands and bars: 95 % bootstrap intervals"
        axes.set_xlabel(f"source length in words (spaCy tokens), and number of sentences n\n{notes}", color=QUIET)
        body.legend(lines, names, loc="outside lower left", ncols=2)
        fix_layout(figure)
    return figure


def _draw_curve(axes: Axes, points: Sequence[Point], colour: str, marker: str, order: float) -> Line2D:
    """Draw the points, the line through them, and the intervals; returns the line, for the legend."""
    values, low, high = (
        np.array([getattr(point, field) for point in points], dtype=float) for field in ("bleu", "ci_low", "ci_high")
    )
    x = np.arange(len(points))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
    has_value = np.pad(np.isfinite(values), 1)
    for i in np.flatnonzero(has_value[1:-1] & ~has_value[:-2] & ~has_value[2:]):
        axes.plot([i, i], [low[i], high[i]], color=colour, linewidth=1.4, zorder=2)
    [line] = axes.plot(x, values, color=colour, linewidth=2.0, marker=marker, markersize=7, zorder=order)
    return line
