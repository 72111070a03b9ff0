"""BLEU by source length as curves, and values with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from textwrap import fill
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nmt.plots.style import (
    COLOURS,
    GRID,
    INK,
    LARGE,
    MARGIN,
    MARKERS,
    NORMAL,
    QUIET,
    SMALL,
    WIDTH,
    Picture,
    drawing,
    new_picture,
    size_of,
)

ROW = 0.24  # inches between two names at the end of the curves
SWATCH = 0.42  # inches of the line and the marker before a name


class Point(Protocol):
    """BLEU (0 to 100) of the sentences of some length, with its 95 % interval; None where there is no sentence."""

    @property
    def label(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def bleu(self) -> float | None: ...
    @property
    def ci_low(self) -> float | None: ...
    @property
    def ci_high(self) -> float | None: ...
    @property
    def is_small(self) -> bool: ...


def bleu_by_length(
    names: Sequence[str], curves: Sequence[Sequence[Point]], *, title: str, subtitle: str = "", case: str = "cased"
) -> Picture:
    """Draw each model's BLEU, which is `case`, against the source length, as in Bahdanau et al. (2015, figure 2).

    There is one curve per name, all with the same buckets of length. All points of a bucket stand on its tick; bands
    are the 95 % intervals, bars where a point has no neighbour. A hollow marker stands for too few sentences; the curve
    leaves it out. Names stand beside the ends of their curves.
    """
    with drawing():
        height = max(4.9, ROW * len(names) + 2.0)
        figure = new_picture(WIDTH, height)
        top = _headings(figure, title, subtitle)
        left, below = 0.75, 1.05
        room = max(_text_width(figure, name) for name in names) + SWATCH + 0.45
        axes = figure.add_axes(_box(figure, left, below, WIDTH - left - room, height - top - below))
        styles = list(islice(zip(cycle(COLOURS), cycle(MARKERS), strict=False), len(names)))
        for order, (points, (colour, marker)) in enumerate(zip(curves, styles, strict=True)):
            # The first models lie on top: as a rule those that the others are compared with.
            _draw_curve(axes, points, colour, marker, 3 + (len(names) - order) / len(names))
        _label_lengths(axes, curves[0])
        axes.set_ylabel(f"BLEU (sacreBLEU, {case})", color=QUIET)
        _name_curves(figure, axes, names, curves, styles)
        notes = "bands: 95 % bootstrap intervals"
        if any(point.count > 0 and point.is_small for point in curves[0]):
            notes = notes.replace("bands", "bands and bars") + "   hollow: too few sentences for a reliable score"
        figure.text(MARGIN / WIDTH, 0.12 / height, notes, fontsize=SMALL, color=QUIET, va="bottom")
    return figure


def intervals(
    names: Sequence[str], values: Sequence[tuple[float, float, float]], *, title: str, subtitle: str = "", label: str
) -> Picture:
    """Draw a value with its interval (value, low, high) for each name, from the top down; `label` names the values."""
    with drawing():
        height = 1.9 + 0.3 * len(names)
        figure = new_picture(WIDTH, height)
        top = _headings(figure, title, subtitle)
        left = max(_text_width(figure, name) for name in names) + MARGIN + 0.15
        axes = figure.add_axes(_box(figure, left, 0.65, WIDTH - left - 0.3, height - top - 0.65))
        for row, (value, low, high) in enumerate(values):
            axes.plot([low, high], [row, row], color=COLOURS[0], linewidth=2.2, solid_capstyle="butt")
            axes.plot(value, row, MARKERS[0], color=COLOURS[0], markersize=7)
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=0.0)
        axes.set_xlabel(label)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["left", "top", "right"]].set_visible(False)
    return figure


def _headings(figure: Picture, title: str, subtitle: str) -> float:
    """Write both at the top left, and return how many inches they take."""
    height = figure.get_size_inches()[1]
    from_top = MARGIN
    for text, width, size, weight, colour in (
        (title, 80, LARGE, "bold", INK),
        (subtitle, 105, NORMAL, "normal", QUIET),
    ):
        if text:
            place = MARGIN / WIDTH, 1 - from_top / height
            style: Any = {"fontsize": size, "fontweight": weight, "color": colour}
            from_top += size_of(figure.text(*place, fill(text, width), va="top", **style))[1] + 0.08
    return from_top + 0.15


def _box(figure: Picture, left: float, bottom: float, width: float, height: float) -> tuple[float, float, float, float]:
    """A place in inches as fractions of the picture."""
    whole = figure.get_size_inches()
    return left / whole[0], bottom / whole[1], width / whole[0], height / whole[1]


def _text_width(figure: Picture, text: str) -> float:
    """A name's width in inches."""
    drawn = figure.text(0, 0, text)
    width = size_of(drawn)[0]
    drawn.remove()
    return width


def _draw_curve(axes: Axes, points: Sequence[Point], colour: str, marker: str, order: float) -> None:
    """One model's points, the line through those that can be trusted, and their intervals."""
    trusted = [point.bleu is not None and not point.is_small for point in points]
    values, low, high = (
        np.array([np.nan if (value := getattr(point, field)) is None else value for point in points])
        for field in ("bleu", "ci_low", "ci_high")
    )
    places = np.arange(len(points))
    axes.plot(places, np.where(trusted, values, np.nan), color=colour, linewidth=2.0, zorder=order)
    axes.fill_between(places, low, high, where=trusted, color=colour, alpha=0.15, linewidth=0, zorder=1)
    for place, point in enumerate(points):
        if point.bleu is None:
            continue
        neighbours = trusted[max(0, place - 1) : place] + trusted[place + 1 : place + 2]
        if not trusted[place] or not any(neighbours):
            axes.plot([place] * 2, [low[place], high[place]], color=colour, linewidth=1.4, zorder=2)
        face = "white" if point.is_small else colour
        axes.plot(place, point.bleu, marker, color=colour, markerfacecolor=face, markersize=7, zorder=order)


def _label_lengths(axes: Axes, points: Sequence[Point]) -> None:
    axes.set_xlabel("source length in words (spaCy tokens), and number of sentences n", color=QUIET)
    labels = [f"{point.label.replace('-', '–')}\nn = {point.count:,}" for point in points]
    axes.set_xticks(range(len(points)), labels)
    axes.set_xlim(-0.3, len(points) - 1 + 0.15)
    highest = max(10.0, axes.dataLim.y1 - 1e-6)  # sacreBLEU gives 100.00000000000004 for a perfect score
    ticks = axes.yaxis.get_major_locator().tick_values(0.0, highest)
    axes.set_ylim(0.0, next((tick for tick in ticks if tick >= highest), highest))
    axes.tick_params(length=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["left", "top", "right"]].set_visible(False)


def _name_curves(
    figure: Picture, axes: Axes, names: Sequence[str], curves: Sequence[Sequence[Point]], styles: Sequence[Any]
) -> None:
    """Write each name to the right of its curve's end, as high as that is and as far from others as it takes."""
    inches = figure.dpi_scale_trans.inverted()
    (_, lowest), (right, highest) = inches.transform(axes.bbox).tolist()
    ends = []
    for points in curves:
        known = [(place, point.bleu) for place, point in enumerate(points) if point.bleu is not None]
        ends.append(inches.transform(axes.transData.transform(known[-1] if known else (len(points) - 1, 0.0))))
    heights = _spread([float(end[1]) for end in ends], ROW, lowest, highest)
    for name, end, y, (colour, marker) in zip(names, ends, heights, styles, strict=True):
        line: Any = {"color": colour, "transform": figure.dpi_scale_trans}
        figure.add_artist(Line2D([end[0], right + 0.22], [end[1], y], linewidth=0.7, linestyle=":", **line))
        swatch = [right + 0.22, right + 0.22 + SWATCH / 2, right + 0.22 + SWATCH]
        figure.add_artist(Line2D(swatch, [y] * 3, linewidth=2.0, **line))
        figure.add_artist(Line2D(swatch[1:2], [y], linewidth=0, marker=marker, markersize=7, **line))
        figure.text(swatch[2] + 0.1, y, name, va="center_baseline", transform=figure.dpi_scale_trans)


def _spread(wanted: Sequence[float], distance: float, lowest: float, highest: float) -> list[float]:
    """The heights from `lowest` to `highest` nearest to the wanted ones, by squares, that are `distance` apart.

    They keep the wanted order; equal ones stand in the list's order, from the top down. This is an isotonic regression:
    less the distances, neighbours that are too close share their mean.
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], -i))
    blocks: list[tuple[float, int]] = []  # mean and size of neighbours that touch
    for rank, i in enumerate(order):
        mean, size = wanted[i] - rank * distance, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    highest -= (len(wanted) - 1) * distance
    means = [min(max(mean, lowest), highest) for mean, size in blocks for _ in range(size)]
    places = [0.0] * len(wanted)
    for rank, (i, mean) in enumerate(zip(order, means, strict=True)):
        places[i] = mean + rank * distance
    return places
