"""Pictures: BLEU by source length, and attention to one sentence. matplotlib is imported when one is drawn.

Figures are drawn without pyplot, so that nothing needs a display and no figure stays in memory.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import cycle, islice
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from nmt.evaluation.by_length import FEW_SENTENCES, Bucket
from nmt.system import files
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito (2008)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # not as many as colours: pairs repeat only after 56 models
CELL = 0.24  # inches of a heat map's row or column: room for a token at 9 points
GAP = 0.3  # inches between the panels of several heat maps
LARGEST_SIDE = 9_000  # pixels; a larger picture gets fewer dots per inch, and keeps its proportions
GOLD = "#D55E00"
LONGEST_TOKEN = 60  # characters; what is longer is cut, or one token could make a picture of any size

_STYLE: Any = {
    "text.parse_math": False,  # a "$" in a token or a file name is a dollar
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "svg.fonttype": "none",  # letters stay letters: they can be searched and copied
    "svg.hashsalt": "nmt",  # the same picture gives the same bytes
}


def plot_bleu_by_length(
    names: Sequence[str], bucket_lists: Sequence[Sequence[Bucket]], title: str, picture_format: str
) -> bytes:
    """Draw all models' BLEU (0 to 100) against the bucket of source length, and return the file's content.

    `bucket_lists` holds one list per name, all with the same buckets; `picture_format` is "png" or "svg".
    Bars are the 95 % intervals; a hollow marker has fewer than 20 sentences behind it.
    """
    shared = bucket_lists[0]
    with _drawing():
        from matplotlib.figure import Figure

        labels = list(names)
        if any(0 < bucket.count < FEW_SENTENCES for bucket in shared):
            labels.append(f"hollow: < {FEW_SENTENCES} sentences")
        columns = _legend_columns(labels)
        size = max(8.0, 1.1 * len(shared) + 1.4), 4.75 + 0.25 * ceil(len(labels) / columns)  # inches
        figure = Figure(figsize=size, dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        gap = min(0.13, 0.6 / len(names))
        styles = islice(zip(cycle(COLOURS), cycle(MARKERS), strict=False), len(names))
        handles = [
            _draw_model(axes, buckets, (index - (len(names) - 1) / 2) * gap, colour, marker)
            for index, (buckets, (colour, marker)) in enumerate(zip(bucket_lists, styles, strict=True))
        ]
        if len(labels) > len(names):
            handles += axes.plot([], [], "o", color="#555555", markerfacecolor="white")
        _label_by_length(axes, shared, title)
        legend = figure.legend(handles, [" "] * len(labels), loc="outside lower center", ncols=columns, frameon=False)
        # Set afterwards: the legend would leave out a name that begins with an underscore.
        for text, label in zip(legend.get_texts(), labels, strict=True):
            text.set_text(label)
        return _render(figure, picture_format)


def plot_intervals(
    names: Sequence[str],
    intervals: Sequence[tuple[float, float, float]],
    title: str,
    label: str,
    picture_format: str,
) -> bytes:
    """Draw a value with its interval (value, low, high) for each name, from the top down; return the file's content.

    `label` says what the values are; `picture_format` is "png" or "svg".
    """
    with _drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8.0, 1.6 + 0.3 * len(names)), dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        for row, (value, low, high) in enumerate(intervals):
            axes.errorbar((low + high) / 2, row, xerr=(high - low) / 2, fmt="none", ecolor=COLOURS[0], capsize=3)
            axes.plot(value, row, MARKERS[0], color=COLOURS[0], markersize=6.5)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=0.0)
        axes.set_title(title)
        axes.set_xlabel(label)
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        return _render(figure, picture_format)


def check_picture(path: Path) -> str:
    """The format that a picture's suffix names, "png" or "svg". Raises UserError for another."""
    picture_format = path.suffix.lower().removeprefix(".")
    if picture_format not in ("png", "svg"):
        raise UserError(f"{path}: the suffix {path.suffix!r} names no kind of picture: use .png or .svg instead")
    return picture_format


def attention_heat_map(
    attention: Float[np.ndarray, "T S"],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    path: str | Path,
    title: str | None = None,
) -> None:
    """Write one sentence's attention weights as a picture, PNG or SVG by the suffix of `path`.

    Source tokens run along the top, target tokens down the side, as in Bahdanau et al. (2015, figure 3).
    The palest blue is weight 0, the darkest the largest weight in the picture, which the colour bar tells.

    Raises UserError where the suffix is another or the file cannot be written, ValueError where the shape of
    `attention` is not (target tokens, source tokens).
    """
    path = Path(path)
    picture_format = check_picture(path)
    content = draw_heat_maps([attention], source_tokens, target_tokens, picture_format, titles=[title])
    files.write(path, content)


def draw_heat_maps(
    matrices: Sequence[Float[np.ndarray, "T S"]],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    picture_format: str,
    *,
    titles: Sequence[str | None],
    heading: str | None = None,
    sure: Iterable[tuple[int, int]] = (),
    possible: Iterable[tuple[int, int]] = (),
) -> bytes:
    """Draw several models' attention to one sentence as panels side by side, and return the file's content.

    There is one title per matrix; the colours mean the same in all panels. The cells of `sure` and `possible` links
    (source, target) are outlined, those that are only possible by a dashed line.

    Raises ValueError where the shape of a matrix is not (target tokens, source tokens), or there is no cell.
    """
    rows, columns = len(target_tokens), len(source_tokens)
    for weights in matrices:
        if weights.shape != (rows, columns) or not weights.size:
            raise ValueError(f"{weights.shape} weights for {rows} target, {columns} source tokens")
    labels = [_token_label(token) for token in source_tokens], [_token_label(token) for token in target_tokens]
    maximum = max(float(weights.max()) for weights in matrices) or 1.0
    with _drawing():
        from matplotlib.figure import Figure

        # The axes have a fixed size and the file grows around them: no token, however long, squeezes the cells.
        figure = Figure(figsize=(columns * CELL, rows * CELL), dpi=DPI)
        panels = [figure.add_axes((0.0, 0.0, 1.0, 1.0), label=str(number)) for number in range(len(matrices))]
        for axes, weights, title in zip(panels, matrices, titles, strict=True):
            cells = _draw_weights(axes, weights, *labels, maximum)
            _outline(axes, set(sure), set(possible))
            if title is not None:
                axes.set_title(title, pad=8)
        right, top = _spread(figure, panels)
        # As high as the cells, and never too low for its label.
        height = max(1.0, 1.4 / (rows * CELL))
        bar = figure.add_axes((right + 0.15 / (columns * CELL), 1.0 - height, 0.12 / (columns * CELL), height))
        figure.colorbar(cells, cax=bar, label="attention weight")
        if heading is not None:
            figure.text(0.0, top + 0.15 / (rows * CELL), heading, ha="left", va="bottom", fontsize=11)
        box = figure.get_tightbbox()
        dpi = min(DPI, LARGEST_SIDE / max(box.width, box.height))
        return _render(figure, picture_format, bbox_inches="tight", pad_inches=0.1, dpi=dpi)


def _draw_weights(
    axes: "Axes", weights: Float[np.ndarray, "T S"], source: Sequence[str], target: Sequence[str], maximum: float
) -> Any:
    """Draw one matrix with its labels, and return what stands for its colours in the colour bar."""
    cells = axes.pcolormesh(weights, cmap="Blues", vmin=0.0, vmax=maximum, edgecolors="#E4E4E4", linewidth=0.25)
    axes.invert_yaxis()
    axes.set_xticks(np.arange(len(source)) + 0.5, source, rotation=90, fontsize=9)
    axes.set_yticks(np.arange(len(target)) + 0.5, target, fontsize=9)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    return cells


def _outline(axes: "Axes", sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> None:
    from matplotlib.patches import Rectangle

    for links, line in ((sure, "-"), (possible - sure, (0, (2, 1.5)))):
        for column, row in sorted(links):
            inside = (column + 0.07, row + 0.07)  # or neighbours would share a line
            axes.add_patch(Rectangle(inside, 0.86, 0.86, fill=False, edgecolor=GOLD, linewidth=1.3, linestyle=line))


def _spread(figure: "Figure", panels: Sequence["Axes"]) -> tuple[float, float]:
    """Move panels, drawn in one place, into a grid as square as may be, with room for their labels and titles.

    The first panel stays. Returns the right end and the top of all that is drawn, in the figure's coordinates, where
    the first panel's cells reach from 0 to 1.
    """
    to_figure = figure.transFigure.inverted()
    boxes = [box.transformed(to_figure) for axes in panels if (box := axes.get_tightbbox()) is not None]
    left, right = min(0.0, *(box.x0 for box in boxes)), max(1.0, *(box.x1 for box in boxes))
    bottom, top = min(0.0, *(box.y0 for box in boxes)), max(1.0, *(box.y1 for box in boxes))
    width, height = figure.get_size_inches()
    step_x, step_y = right - left + GAP / width, top - bottom + GAP / height
    columns = ceil(sqrt(len(panels)))
    for number, axes in enumerate(panels):
        row, column = divmod(number, columns)
        axes.set_position((column * step_x, -row * step_y, 1.0, 1.0))
    return (columns - 1) * step_x + right, top


@contextmanager
def _drawing() -> Iterator[None]:
    """Our settings, and only for now: a caller's matplotlib stays as it was."""
    import matplotlib

    # Warnings first: they are about letters that the font lacks (drawn as boxes), and no reason to stop or to talk.
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from font", category=UserWarning)
        matplotlib.rcdefaults()  # nor does the user's own matplotlibrc change our pictures
        matplotlib.rcParams.update(_STYLE)
        yield


def _render(figure: "Figure", picture_format: str, **options: Any) -> bytes:
    buffer = BytesIO()
    metadata = {"Date": None} if picture_format == "svg" else None
    figure.savefig(buffer, format=picture_format, metadata=metadata, **options)
    return buffer.getvalue()


def _draw_model(axes: "Axes", buckets: Sequence[Bucket], shift: float, colour: str, marker: str) -> Any:
    """Draw one model's points, moved sideways by `shift`, and return what stands for it in the legend."""
    for x, bucket in enumerate(buckets):
        if bucket.bleu is None or bucket.ci_low is None or bucket.ci_high is None:
            continue
        # Around the middle of the interval, not the point, which in a tiny bucket may lie outside.
        middle, half = (bucket.ci_low + bucket.ci_high) / 2, (bucket.ci_high - bucket.ci_low) / 2
        axes.errorbar(x + shift, middle, half, fmt="none", ecolor=colour, elinewidth=1.4, capsize=3, zorder=2)
        face = "white" if bucket.is_small else colour
        axes.plot(x + shift, bucket.bleu, marker, color=colour, markerfacecolor=face, markersize=6.5, zorder=3)
    # A bucket with no or few sentences interrupts the line: it shows no trend.
    scores = [np.nan if bucket.bleu is None or bucket.is_small else bucket.bleu for bucket in buckets]
    axes.plot(np.arange(len(buckets)) + shift, scores, color=colour, linewidth=1.0, alpha=0.45, zorder=1)
    return axes.plot([], [], marker, linestyle="-", color=colour, markersize=6.5)[0]


def _legend_columns(labels: Sequence[str]) -> int:
    """One row of labels if they fit under the narrowest figure, else two columns, else one."""
    room, handle = 95, 8  # in letters of average width
    if sum(len(label) + handle for label in labels) <= room:
        return len(labels)
    return 2 if 2 * (max(map(len, labels)) + handle) <= room else 1


def _label_by_length(axes: "Axes", buckets: Sequence[Bucket], title: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("source length in spaCy tokens; n = sentences")
    axes.set_ylabel("sacreBLEU with 95 % bootstrap interval")
    labels = [f"{bucket.label.replace('-', '–')}\nn = {bucket.count:,}" for bucket in buckets]
    axes.set_xticks(range(len(buckets)), labels)
    axes.set_xlim(-0.5, len(buckets) - 0.5)
    axes.set_ylim(0.0, max(10.0, 1.05 * axes.get_ylim()[1]))  # room for the highest marker
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _token_label(token: str) -> str:
    """The token on one line: line ends and the like become escapes."""
    shown = token if token.isprintable() else repr(token)[1:-1]
    return shown if len(shown) <= LONGEST_TOKEN else f"{shown[: LONGEST_TOKEN - 1]}…"
