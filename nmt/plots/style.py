"""How all figures look, and how they are written, without pyplot: nothing needs a display or stays in memory.

These modules import matplotlib, which takes half a second: import them in the function that draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.layout_engine import ConstrainedLayoutEngine

from nmt.system import files
from nmt.system.errors import UserError

FORMATS = ("png", "svg", "pdf")
WIDTH = 8.5  # inches: at `DPI` 1530 pixels, and text keeps its size in points on a web page of usual width
DPI = 180
LARGEST_SIDE = 9_000  # pixels; a larger figure gets fewer dots per inch, and keeps its proportions
# Seven of Okabe and Ito (2008), which people with any colour vision can tell apart, a grey and a dark red.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # one less than colours: pairs repeat only after 72 models
INK, QUIET, GRID = "#222222", "#666666", "#E2E2E2"
SMALL, NORMAL, LARGE = 9.0, 10.0, 12.5  # points

_STYLE: Any = {
    "text.parse_math": False,  # a "$" in a token or a file name is a dollar
    "text.usetex": False,
    "font.family": "DejaVu Sans",  # it comes with matplotlib, and has letters of most scripts
    "font.size": NORMAL,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": NORMAL,
    "axes.titleweight": "bold",
    "grid.color": GRID,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "svg.fonttype": "none",  # letters stay letters: they can be searched and copied
    "svg.hashsalt": "nmt",  # the same figure gives the same bytes
    "pdf.fonttype": 42,
}


class NotebookFigure(Figure):
    """A figure that a notebook shows as the last value of a cell, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        return render(self, "png")


@contextmanager
def drawing() -> Iterator[None]:
    """Use the project's settings for a while. The caller's matplotlib settings are neither used nor changed."""
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from font", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(
    width: float, height: float, title: str | None = None, subtitle: str | None = None
) -> tuple[NotebookFigure, FigureBase]:
    """An empty figure of that size in inches, and the part of it below title and subtitle. Use them within `drawing`.

    Matplotlib's constrained layout makes room for labels: `fix_layout` ends it.
    """
    layout = ConstrainedLayoutEngine(rect=(0.01, 0.01, 0.98, 0.98))
    figure = NotebookFigure(figsize=(width, height), dpi=DPI, layout=layout)
    FigureCanvasAgg(figure)  # measures text without a display
    if title:
        figure.suptitle(fill(title, 70), x=0.01, ha="left", fontsize=LARGE, fontweight="bold")
    if not subtitle:
        return figure, figure
    body = figure.add_subfigure(figure.add_gridspec()[0])
    body.suptitle(fill(subtitle, 95), x=0.01, ha="left", fontsize=NORMAL, color=QUIET)
    return figure, body


def fix_layout(figure: Figure) -> None:
    """Compute the layout, once: the same figure gives the same bytes each time that it is drawn."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def figure_format(path: Path) -> str:
    """The format that a path's suffix names, one of `FORMATS`. Raises `UserError` for any other suffix."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise UserError(f"{path}: {path.suffix!r} is not a figure format; use .png, .svg or .pdf")
    return suffix


def render(figure: Figure, file_format: str) -> bytes:
    """The content of a figure's file. The same figure gives the same bytes."""
    with drawing():
        buffer = BytesIO()
        # PNG has no date of its own; the other two would hold the time of writing.
        metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
        dpi = min(DPI, LARGEST_SIDE / max(figure.get_size_inches()))
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=metadata)
        return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its path's suffix. Raises `UserError` for another one, or if it cannot write."""
    files.write(path, render(figure, figure_format(path)))
