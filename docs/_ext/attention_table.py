"""The tables of scores, scopes, normalizers and cells, from the classes that compute them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nmt.components import CELLS, NORMALIZERS, SCOPES, SCORES
from nmt.model.cells import Cell

SUBSCRIPT = re.compile(r"(?<=[^\W\d_]|[)\u0300-\u036f])_(?:\{([^}]*)\}|(\w)(?![a-zA-Z0-9_]))")

COSTS = {  # multiplications per decoder step, for one sentence
    "additive": "S (A + M) + H·A, and S·A tanh",
    "concat": "S (A + M) + H·A, and S·A tanh",
    "dot": "S (H + M)",
    "general": "S (H + M)",
    "linear": "S·M",
    "location": "S (H + M)",
    "scaled_dot": "S (H + M)",
    "scaled_general": "S (H + M)",
    "global": "the score's",
    "hierarchical": "the score's for S positions and for G segments, G·M·A for their keys, and G·S·M",
    "local_m": "the score's with 2D + 1 for S",
    "local_p": "the score's with 2D + 1 for S, and H²",
    "softmax": "S exp",
    "sparsemax": "a sort of S",
    "entmax15": "a sort of S",
    "entmax": "about 20 S powers",
    "sigmoid": "S exp",
    "gumbel": "S exp, and in training S log",
}


def scores() -> str:
    return _table("score", SCORES)


def scopes() -> str:
    return _table("scope", SCOPES)


def normalizers() -> str:
    return _table("normalizer", NORMALIZERS)


def cells() -> str:
    rows = [
        "| `cell` | formula | paper | parameters per layer | at once |",
        "|---|---|---|---|---|",
    ]
    for name, cell in CELLS.items():
        inputs = f"{cell.gates} H"
        own = [_term(factor, power) for factor, power in zip(_own_parameters(cell), ("H²", "H", ""), strict=True)]
        parameters = " + ".join(filter(None, [f"{inputs} (I + 1)", *own]))
        at_once = "no" if cell.sequence is Cell.sequence else "yes"
        columns = [*(typeset(text).replace("|", r"\|") for text in formula_and_paper(cell)), parameters, at_once]
        rows.append(f"| {_link(name, cell)} | {' | '.join(columns)} |")
    return "\n".join(rows)


def _own_parameters(cell: type[Cell]) -> tuple[int, int, int]:
    """(m, n, k) of a cell that has m H² + n H + k parameters beside those of its input."""
    first, second, third = (sum(p.numel() for p in cell(hidden).parameters()) for hidden in (64, 128, 192))
    squares = (third - 2 * second + first) // (2 * 64**2)
    vectors = (second - first - squares * 3 * 64**2) // 64
    return squares, vectors, first - squares * 64**2 - vectors * 64


def _term(factor: int, power: str) -> str:
    return f"{factor} {power}".strip() if factor else ""


def _link(name: str, component: type[Any]) -> str:
    return f"[`{name}`](../../{component.__module__.replace('.', '/')}.py)"


def _table(choice: str, components: Mapping[str, type[Any]]) -> str:
    rows = [f"| `{choice}` | formula | paper | cost per step |", "|---|---|---|---|"]
    for name, component in components.items():
        columns = map(typeset, [*formula_and_paper(component), COSTS.get(name, "–")])
        rows.append(f"| {_link(name, component)} | {' | '.join(columns)} |")
    return "\n".join(rows)


def formula_and_paper(component: type[Any]) -> tuple[str, str]:
    """What a docstring begins with: `FORMULA (PAPER).`"""
    first = " ".join((component.__doc__ or "").split("\n\n")[0].split())
    match = re.match(r"(?P<formula>.+?) \((?P<paper>[^()]+)\)(?=[.;]|$)", first)
    return (match["formula"], match["paper"]) if match else (first, "–")


def typeset(text: str) -> str:
    """Plain mathematics as Markdown: `W_a` and `y_{t−1}` get true subscripts."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else SUBSCRIPT.sub(r"<sub>\1\2</sub>", p).replace("*", r"\*") for p in parts)
