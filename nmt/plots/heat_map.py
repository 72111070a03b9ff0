"""Attention weights of one sentence as a heat map: one model's, or a few models' side by side.

Source tokens run along the top, target tokens down the side, as in Bahdanau et al. (2015, figure 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch, Rectangle

from nmt.plots.labels import TokenLabel, notes_on, token_labels
from nmt.plots.style import (
    COLOURS,
    INK,
    LARGE,
    MARGIN,
    NORMAL,
    QUIET,
    SMALL,
    WIDTH,
    Picture,
    drawing,
    new_picture,
    picture_format,
    save,
    size_of,
)

SMALLEST_CELL, LARGEST_CELL, SLANTED_CELL = 0.17, 0.4, 0.27  # inches; words of cells from the last on are slanted
GAP = 0.3  # inches between panels
GOLD = COLOURS[1]
DASHES: Any = (0, (2, 1.5))
Link = tuple[int, int]


def heat_map(
    weights: Float[np.ndarray, "T S"],
    source: Sequence[str],
    target: Sequence[str],
    path: str | Path | None = None,
    *,
    title: str | None = None,
    source_label: str = "source",
    target_label: str = "translation",
) -> Picture:
    """Draw the attention weights of T target tokens (rows) to S source tokens (columns).

    The palest colour is weight 0, the darkest the end of the colour bar. With `path`, the picture is also written
    there, as .png, .svg or .pdf. Tokenizers' signs are replaced as `nmt.plots.labels.token_labels` says.

    Raises UserError if the path names no such format or cannot be written, ValueError if the shape of `weights` is not
    (target tokens, source tokens) or there is no token.
    """
    if path is not None:
        picture_format(Path(path))  # first of all: drawing takes a second
    (figure,) = heat_maps(
        [weights], source, target, titles=[None], heading=title, source_label=source_label, target_label=target_label
    )
    if path is not None:
        save(figure, Path(path))
    return figure


def level_maps(
    of_segments: Float[np.ndarray, "T G"],
    within: Float[np.ndarray, "T S"],
    segments: Sequence[int],
    source: Sequence[str],
    target: Sequence[str],
    path: str | Path | None = None,
) -> Picture:
    """Draw the two levels of attention: to segments, and to tokens within each. `segments` numbers the tokens' ones.

    Raises where `heat_map` does.
    """
    if path is not None:
        picture_format(Path(path))
    matrices = [of_segments[:, list(segments)], within]
    (figure,) = heat_maps(matrices, source, target, titles=["Which sentence", "Which word of each sentence"])
    if path is not None:
        save(figure, Path(path))
    return figure


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
    sure: Iterable[Link] = (),
    possible: Iterable[Link] = (),
) -> list[Picture]:
    """Draw several models' attention between the same tokens as panels, on as many pictures as it takes.

    A picture has at most four panels, two side by side, or two where the sentence is too long for that. There is one
    title per matrix; the colours mean the same in all panels. The cells of `sure` and `possible` gold links (source,
    target), counted from 0, are outlined, those that are only possible by a dashed line.

    Raises ValueError if the shape of a matrix is not (target tokens, source tokens), or there is no token or matrix.
    """
    _check_shapes(matrices, len(target), len(source))
    labels = token_labels(source), token_labels(target)
    largest = max(0.1, ceil(10 * max(float(weights.max()) for weights in matrices) - 1e-6) / 10)
    links = set(sure), set(possible) - set(sure)
    frame = _frame(heading, subheading, notes_on([*labels[0], *labels[1]]), *map(bool, links))
    abreast = _panels_abreast(len(matrices), len(source), labels[1])
    drawn, pictures = list(zip(matrices, titles, strict=True)), []
    with drawing():
        for part in (drawn[begin : begin + 2 * abreast] for begin in range(0, len(drawn), 2 * abreast)):
            cell = _cell_size(abreast, len(source), labels[1])
            figure = new_picture(len(source) * cell, len(target) * cell)
            panels = [figure.add_axes((0.0, 0.0, 1.0, 1.0), label=str(number)) for number in range(len(part))]
            for number, (axes, (weights, title)) in enumerate(zip(panels, part, strict=True)):
                cells = _draw_weights(axes, weights, largest)
                _outline(axes, *links)
                first_row, first_column = number < abreast, number % abreast == 0
                _name_tokens(axes, labels[0], labels[1] if first_column else None, cell)
                axes.set_xlabel(source_label if first_row else "", color=QUIET, labelpad=7)
                axes.set_ylabel(target_label if first_column else "", color=QUIET, labelpad=7)
                if title is not None:
                    axes.set_title(title, fontsize=NORMAL, fontweight="bold", loc="left", pad=9)
            _arrange(figure, panels, abreast, cells, frame)
            pictures.append(figure)
    return pictures


def _check_shapes(matrices: Sequence[Float[np.ndarray, "T S"]], rows: int, columns: int) -> None:
    if not matrices:
        raise ValueError("no weights to draw")
    for weights in matrices:
        if weights.shape != (rows, columns) or not weights.size:
            raise ValueError(f"{weights.shape} weights for {rows} target, {columns} source tokens")


def _panels_abreast(count: int, columns: int, target: Sequence[TokenLabel]) -> int:
    """How many panels stand in a row: two where both fit the width with cells of the smallest size, else one."""
    return 2 if count > 1 and _room(2, target) >= 2 * columns * SMALLEST_CELL else 1


def _room(abreast: int, target: Sequence[TokenLabel]) -> float:
    """Inches that are left for cells beside the target's words, the margins, and the end of a slanted word."""
    words = 0.08 * max(len(label.text) for label in target) + 0.4
    return WIDTH - words - 2 * MARGIN - 0.6 - (abreast - 1) * GAP


def _cell_size(abreast: int, columns: int, target: Sequence[TokenLabel]) -> float:
    return min(LARGEST_CELL, max(SMALLEST_CELL, _room(abreast, target) / (abreast * columns)))


def _draw_weights(axes: Axes, weights: Float[np.ndarray, "T S"], largest: float) -> Any:
    """Draw one matrix, and return what stands for its colours in the colour bar."""
    blues = ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.03, 1.0, 256)), name="weights")
    cells = axes.pcolormesh(weights, cmap=blues, vmin=0.0, vmax=largest, edgecolors="white", linewidth=0.8)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    return cells


def _outline(axes: Axes, sure: set[Link], possible: set[Link]) -> None:
    for links, line in ((sure, "-"), (possible, DASHES)):
        for column, row in sorted(links):
            inside = (column + 0.08, row + 0.08)  # or neighbours would share a line
            axes.add_patch(Rectangle(inside, 0.84, 0.84, fill=False, edgecolor=GOLD, linewidth=1.5, linestyle=line))


def _name_tokens(axes: Axes, source: Sequence[TokenLabel], target: Sequence[TokenLabel] | None, cell: float) -> None:
    size = SMALL if cell < 0.2 else NORMAL
    slant: Any = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if cell >= SLANTED_CELL else {"rotation": 90}
    axes.set_xticks(np.arange(len(source)) + 0.5, [label.text for label in source], fontsize=size, **slant)
    if target is None:
        axes.set_yticks([])
    else:
        axes.set_yticks(np.arange(len(target)) + 0.5, [label.text for label in target], fontsize=size)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.xaxis.set_label_position("top")
    ticks = [*zip(axes.get_xticklabels(), source, strict=True)]
    ticks += [] if target is None else [*zip(axes.get_yticklabels(), target, strict=True)]
    for tick, label in ticks:
        if label.kind == "unknown":
            tick.set(color=GOLD, fontweight="bold")
        elif label.kind != "word":
            tick.set(color=QUIET, fontstyle="italic")


@dataclass(frozen=True)
class _Frame:
    """What stands around the panels: headings above them, notes and the kinds of outlines below."""

    headings: Sequence[tuple[str, dict[str, Any]]]
    notes: str
    outlines: Sequence[tuple[str, Any]]


def _frame(heading: str | None, subheading: str | None, notes: Sequence[str], sure: bool, possible: bool) -> _Frame:
    headings: list[tuple[str, dict[str, Any]]] = []
    if heading is not None:
        headings.append((fill(heading, 70), {"fontsize": LARGE, "fontweight": "bold", "color": INK}))
    if subheading is not None:
        headings.append((fill(subheading, 95), {"fontsize": NORMAL, "color": QUIET}))
    kinds = [("gold link", "-")] * sure + [("possible gold link", DASHES)] * possible
    return _Frame(headings, "   ".join(notes), kinds)


def _arrange(figure: Picture, panels: Sequence[Axes], abreast: int, cells: Any, frame: _Frame) -> None:
    """Give everything its place, from the top down: headings, panels, colour bar, notes; all flush left.

    Before, all panels lie upon each other and fill the figure. Lengths are in inches.
    """
    width, height = figure.get_size_inches()
    left, right, top = _paddings(figure, panels)
    headings = [figure.text(0, 0, text, ha="left", va="top", **style) for text, style in frame.headings]
    sizes = [size_of(text) for text in headings]
    heading_height = sum(size[1] + 0.08 for size in sizes) + (0.08 if sizes else 0.0)
    step_x, step_y = width + GAP, top + height + GAP
    rows = ceil(len(panels) / abreast)
    widths = [left + step_x * (min(abreast, len(panels)) - 1) + width + right, 3.2, 0.075 * len(frame.notes)]
    total = 2 * MARGIN + max([*widths, *(size[0] for size in sizes)])
    below = 0.75 + (0.25 if frame.notes else 0.0) + (0.25 if frame.outlines else 0.0)
    whole = 2 * MARGIN + heading_height + rows * step_y - GAP + below
    figure.set_size_inches(total, whole)

    def place(x: float, from_top: float) -> tuple[float, float]:
        return x / total, 1 - from_top / whole

    from_top = MARGIN
    for text, size in zip(headings, sizes, strict=True):
        text.set_position(place(MARGIN, from_top))
        from_top += size[1] + 0.08
    from_top = MARGIN + heading_height
    for number, axes in enumerate(panels):
        row, column = divmod(number, abreast)
        x, y = place(MARGIN + left + column * step_x, from_top + row * step_y + top + height)
        axes.set_position((x, y, width / total, height / whole))
    _explain(figure, cells, frame, from_top + rows * step_y - GAP + 0.25)


def _explain(figure: Picture, cells: Any, frame: _Frame, from_top: float) -> None:
    """Draw the colour bar, the notes and the meaning of outlines, from that many inches below the top."""
    whole = figure.get_size_inches()

    def place(below: float) -> tuple[float, float]:
        return MARGIN / whole[0], 1 - (from_top + below) / whole[1]

    figure.text(*place(0.0), "attention weight", ha="left", va="top", fontsize=SMALL)
    axes = figure.add_axes((*place(0.32), 1.8 / whole[0], 0.12 / whole[1]))
    bar = figure.colorbar(cells, cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    ends = cells.get_clim()
    bar.set_ticks([ends[0], sum(ends) / 2, ends[1]], labels=["0", f"{sum(ends) / 2:g}", f"{ends[1]:g}"])
    axes.tick_params(length=2, labelsize=SMALL)
    sides: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")
    for tick, side in zip(axes.get_xticklabels(), sides, strict=True):
        tick.set_horizontalalignment(side)  # flush with the bar
    if frame.notes:
        figure.text(*place(0.62), frame.notes, ha="left", va="top", fontsize=SMALL, color=QUIET)
    if frame.outlines:
        patch: Any = {"facecolor": "none", "edgecolor": GOLD, "linewidth": 1.5}
        handles = [Patch(label=label, linestyle=line, **patch) for label, line in frame.outlines]
        options: Any = {"frameon": False, "borderpad": 0, "borderaxespad": 0, "handlelength": 1.0, "fontsize": SMALL}
        corner = place(0.87 if frame.notes else 0.62)
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=2, **options)


def _paddings(figure: Picture, panels: Sequence[Axes]) -> tuple[float, float, float]:
    """The most that words reach beyond a panel's cells to the left, to the right and above."""
    cells = panels[0].bbox
    boxes = [box for axes in panels if (box := axes.get_tightbbox()) is not None]
    left, right = cells.x0 - min(box.x0 for box in boxes), max(box.x1 for box in boxes) - cells.x1
    above = max(box.y1 for box in boxes) - cells.y1
    return tuple(max(0.0, float(length)) / figure.dpi for length in (left, right, above))  # type: ignore[return-value]
