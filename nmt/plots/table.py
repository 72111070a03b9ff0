"""One sentence's attention as a small HTML table: what a notebook shows without drawing anything."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from nmt.plots.labels import TokenLabel, notes_on, token_labels

MOST_CELLS = 5_000  # of a table: more would make a notebook slow and large
_COLOUR = "0, 114, 178"  # the blue of the figures, more or less transparent, so that it fits dark pages too
_SIZE = "font-size: 85%"
_HEAD = "writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; font-weight: normal; padding: 2px"
_SIDE = "text-align: right; font-weight: normal; padding: 2px 6px"


def attention_table(
    weights: Float[np.ndarray, "T S"], source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> str:
    """HTML of the attention weights of T target tokens (rows) to S source tokens (columns).

    The stronger a cell's colour, the larger its weight: from none at 0 to the full colour at the largest. A cell's
    tooltip gives the weight. Tokens are shown as `nmt.plots.labels.token_labels` says. A table of more than
    `MOST_CELLS` cells is left out, and one line says so.
    """
    rows, columns = weights.shape
    if rows * columns > MOST_CELLS:
        return f"<div>attention: {rows} × {columns} weights, too many for a table</div>"
    source, target = token_labels(source_tokens), token_labels(target_tokens)
    largest = float(weights.max()) or 1.0
    head = "".join(_name(label, "col", _HEAD) for label in source)
    body = "".join(
        f"<tr>{_name(label, 'row', _SIDE)}{''.join(_cell(float(w), largest) for w in row)}</tr>"
        for label, row in zip(target, weights, strict=True)
    )
    table = f'<table style="border-collapse: collapse; {_SIZE}"><tr><td></td>{head}</tr>{body}</table>'
    notes = "; ".join(map(escape, notes_on([*source, *target])))
    return f'<div style="overflow-x: auto">{table}<div style="{_SIZE}; opacity: 0.7">{notes}</div></div>'


def _name(label: TokenLabel, scope: str, style: str) -> str:
    text = escape(label.text)
    return f'<th scope="{scope}" style="{style}">{text if label.kind == "word" else f"<i>{text}</i>"}</th>'


def _cell(weight: float, largest: float) -> str:
    strength = weight / largest
    return f'<td title="{weight:.3f}" style="min-width: 1.4em; background: rgba({_COLOUR}, {strength:.2f})"></td>'
