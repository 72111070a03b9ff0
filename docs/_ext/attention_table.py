"""The tables of scores, scopes, normalizers and cells, from their classes, and of settings that exclude each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain, combinations, product
from typing import Any

from pydantic import ValidationError

from nmt.components import CELLS, NORMALIZERS, SCOPES, SCORES
from nmt.config.model import ModelConfig
from nmt.model.cells import Cell
from nmt.registry import spelled

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


def exclusions() -> str:
    """Which settings of `model.attention` are refused together, each pair once, the most exclusive setting first."""
    axes = {"wiring": ["bahdanau"], "score": SCORES, "scope": SCOPES, "normalizer": NORMALIZERS, "heads": [2]}
    axes |= {field: [True] for field in ("input_feeding", "hard", "key_value", "projected", "coverage")}
    axes |= {"monotonic": [{}], "latent": [{}]}
    settings = [(axis, value) for axis, values in axes.items() for value in values if _fits((axis, value))]
    pairs = combinations(range(len(settings)), 2)
    refused = [pair for pair in pairs if not _fits(*(settings[number] for number in pair))]
    rows = ["| setting | excludes |", "|---|---|"]
    while refused:
        [(most, _)] = Counter(chain(*refused)).most_common(1)
        others = [settings[sum(pair) - most] for pair in refused if most in pair]
        refused = [pair for pair in refused if most not in pair]
        rows.append(f"| {_spelled([settings[most]])} | {_spelled(others)} |")
    return "\n".join(rows)


def _fits(*settings: tuple[str, Any]) -> bool:
    """Whether there are a wiring, an input feeding and sizes with which the settings are accepted."""
    if len(dict(settings)) < len(settings):
        return True  # of the same field
    for wiring, feeding, hidden in product(({}, {"wiring": "luong"}), ({}, {"input_feeding": False}), (4, 8)):
        values = {"attention": wiring | feeding | dict(settings), "encoder": {"hidden_size": hidden}}
        try:
            ModelConfig.model_validate(values | {"decoder": {"hidden_size": 8}})
        except ValidationError:
            continue
        return True
    return False


def _spelled(settings: Iterable[tuple[str, Any]]) -> str:
    """`a: 1`, `b: 2, 3`."""
    by_field: dict[str, list[str]] = {}
    for field, value in settings:
        by_field.setdefault(field, []).append(spelled(value))
    return ", ".join(f"`{field}: {', '.join(values)}`" for field, values in by_field.items())


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
