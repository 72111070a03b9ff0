"""Attention weights of one sentence as a heat map: one model's, or a few models' side by side.

Source tokens run along the top, target tokens down the side, as in Bahdanau et al. (2015, figure 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import ListedColormap
from matplotlib.figure import FigureBase

from nmt.plots.labels import TokenLabel, notes_on, token_labels
from nmt.plots.style import COLOURS, NORMAL, QUIET, SMALL, WIDTH, NotebookFigure, drawing, fix_layout, new_figure

SMALLEST_CELL, LARGEST_CELL, SLANTED_CELL = 0.17, 0.4, 0.27  # inches; source words of smaller cells are vertical


def heat_maps(
    matrices: Sequence[Float[np.ndarray, "T S"]],
    source: Sequence[str],
    target: Sequence[str],
    *,
    titles: Sequence[str | None],
    heading: str | None = None,
    subheading: str | None = None,
    source_label: str = "source",
    target_label: str = "translation",
    notes: Sequence[str] = (),
) -> list[NotebookFigure]:
    """Draw several models' attention between the same tokens as panels, on as many figures as it takes.

    A figure has at most four panels, two side by side if they fit, with one title per matrix and the same colours.
    """
    largest = max(0.1, ceil(10 * max(float(weights.max()) for weights in matrices) - 1e-6) / 10)
    labels = token_labels(source), token_labels(target)
    beside = 0.08 * max(len(label.text) for label in labels[1]) + 1.3  # inches that target words and margins take
    columns = 2 if len(matrices) > 1 and WIDTH - beside >= 2 * len(source) * SMALLEST_CELL else 1
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, (WIDTH - beside) / (columns * len(source))))
    figures = []
    for first in range(0, len(matrices), 2 * columns):
        panels = list(zip(matrices, titles, strict=True))[first : first + 2 * columns]
        rows = ceil(len(panels) / columns)
        width, height = beside + columns * len(source) * cell, rows * (len(target) * cell + 1.2) + 1.6
        with drawing():
            figure, body = new_figure(max(width, 5.0), height, heading, subheading)
            grid = body.subplots(rows, columns, squeeze=False)
            for axes, (weights, title) in zip(grid.flat, panels, strict=False):
                cells = _draw_panel(axes, weights, largest, title)
                _name_tokens(axes, *labels, cell)
            for axes in grid.flat[len(panels) :]:
                axes.remove()
            for axes in grid[0]:
                axes.set_xlabel(source_label, color=QUIET)
            for axes in grid[:, 0]:
                axes.set_ylabel(target_label, color=QUIET)
            for axes in grid[:, 1:].flat:
                axes.tick_params(labelleft=False)  # target words are at the left alone
            _explain(body, cells, list(grid.flat[: len(panels)]), [*notes, *notes_on([*labels[0], *labels[1]])])
            fix_layout(figure)
        figures.append(figure)
    return figures


def _draw_panel(axes: Axes, weights: Float[np.ndarray, "T S"], largest: float, title: str | None) -> QuadMesh:
    """Draw one matrix, and return what the colour bar explains."""
    blues = ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.03, 1.0, 256)), name="weights")
    cells = axes.pcolormesh(weights, cmap=blues, vmin=0.0, vmax=largest, edgecolors="white", linewidth=0.8)
    axes.set(aspect="equal", anchor="NW", title=title)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    return cells


def _name_tokens(axes: Axes, source: Sequence[TokenLabel], target: Sequence[TokenLabel], cell: float) -> None:
    size = SMALL if cell < 0.2 else NORMAL
    slant: Any = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if cell >= SLANTED_CELL else {"rotation": 90}
    axes.set_xticks(np.arange(len(source)) + 0.5, [label.text for label in source], fontsize=size, **slant)
    axes.set_yticks(np.arange(len(target)) + 0.5, [label.text for label in target], fontsize=size)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.xaxis.set_label_position("top")
    for tick, label in zip([*axes.get_xticklabels(), *axes.get_yticklabels()], [*source, *target], strict=True):
        if label.kind == "unknown":
            tick.set(color=COLOURS[1], fontweight="bold")
        elif label.kind != "word":
            tick.set(color=QUIET, fontstyle="italic")


def _explain(body: FigureBase, cells: QuadMesh, panels: list[Axes], notes: Sequence[str]) -> None:
    """Draw the colour bar and the notes below the panels."""
    bar = body.colorbar(cells, ax=panels, location="bottom", anchor=(0, 1), panchor=False, shrink=0.4, aspect=15)
    bar.outline.set_visible(False)
    _, largest = cells.get_clim()
    bar.set_ticks([0, largest / 2, largest], labels=["0", f"{largest / 2:g}", f"{largest:g}"])
    bar.set_label("\n".join(["attention weight", *notes]), fontsize=SMALL, loc="left")
    bar.ax.tick_params(length=2, labelsize=SMALL)
