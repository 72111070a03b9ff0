"""Which column or language of a file a name means."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from nmt.formats.paths import Address
from nmt.system.errors import UserError
from nmt.text.language import base_language, language_name


def canonical(name: str) -> str:
    """A name in lower case, with hyphens."""
    return name.strip().lower().replace("_", "-")


def _last(name: str) -> str:
    return canonical(name).rpartition(".")[2]  # of translation.de


def _language(name: str) -> str:
    return base_language(_last(name))


def matches(column: str, names: Sequence[str]) -> list[int]:
    """The positions of the names that fit best: the same one, else a language with or without its region or English
    name, such as de-DE, de_AT, translation.de and German for de. A column with a region fits no other region."""
    code = canonical(column)
    keys: list[tuple[Callable[[str], str], str]] = [(str, column), (canonical, code), (_last, code), (_language, code)]
    for key, value in [*keys, (canonical, language_name(code).lower())]:
        if positions := [n for n, name in enumerate(names) if key(name) == value]:
            return positions
    return []


def choose(address: Address, names: Sequence[str], *, numbered: bool = False) -> int:
    """The position of the address's column among a file's. `numbered`: numbers from 1 name columns, too.

    Raises `UserError` for a column that is not there or not unique, and for none where there are several.
    """
    column, shown = address.column, ", ".join(dict.fromkeys(filter(None, names)))[:300]
    if column is None:
        if len(names) == 1:
            return 0
        raise UserError(f"{address} has several columns or languages ({shown}): name one, as {address.of(names[0])}")
    positions = matches(column, names)
    if len(positions) > 1:
        several = " and ".join(names[n] for n in positions[:5])
        raise UserError(f"{address}: {column} may be {several}: name one, as {address.of(names[positions[0]])}")
    if positions:
        return positions[0]
    if numbered and column.isdecimal() and 0 < int(column) <= len(names):
        return int(column) - 1
    near = difflib.get_close_matches(column.lower(), {name.lower(): name for name in names}, n=1, cutoff=0.4)
    nearest = next((name for name in names if [name.lower()] == near), names[0] if names else None)
    advice = f"it has {shown}; write {address.of(nearest)}" if nearest is not None else "it has none"
    raise UserError(f"{address} has no column or language {column}: {advice}")
