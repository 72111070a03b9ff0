"""The tables of scores and scopes, from the classes that compute them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nmt.model.scopes import SCOPES
from nmt.model.scores import SCORES

SUBSCRIPT = re.compile(r"(?<=[^\W\d_]|[)\u0300-\u036f])_(?:\{([^}]*)\}|(\w)(?![a-zA-Z0-9_]))")


def scores() -> str:
    return _table("score", SCORES)


def scopes() -> str:
    return _table("scope", SCOPES)


def _table(choice: str, family: Mapping[str, type[Any]]) -> str:
    rows = [f"| `{choice}` | formula | paper | cost per step | choose it |", "|---|---|---|---|---|"]
    for name, part in family.items():
        cells = [typeset(part.formula), part.paper, typeset(part.cost), typeset(part.advice)]
        rows.append(f"| [`{name}`](../../{part.__module__.replace('.', '/')}.py) | {' | '.join(cells)} |")
    return "\n".join(rows)


def typeset(text: str) -> str:
    """Plain mathematics as Markdown: `W_a` and `y_{t−1}` get true subscripts."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else SUBSCRIPT.sub(r"<sub>\1\2</sub>", p).replace("*", r"\*") for p in parts)
