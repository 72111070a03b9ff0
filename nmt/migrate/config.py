"""The fields that configs of nmt 0.3 call otherwise, or that ended with it."""

import sys
from typing import Any

from nmt.system.errors import UserError

RENAMED = {  # fields, or a value as "field: value", with the new name; None: there is none
    "training.schedule.kind: trapezoid": "warmup_stable_decay",
    "data.source.respelling": "data.augment.typos",
    "data.copying": "data.augment.copying",
    "data.source.monolingual": "data.augment.source_monolingual",
    "data.target.monolingual": "data.augment.target_monolingual",
    "data.source.subword_sampling": None,
    "data.target.subword_sampling": None,
    "training.r_drop": None,
    "training.precision: int8": None,
    "search.vocabulary_selection": None,
    "training.keep_checkpoints": None,
    "model.word_dropout": None,
}


def upgrade(values: dict[str, Any], origin: str, quiet: bool = False) -> None:
    """Give the fields in a config's plain values their new names, and print them, unless `quiet`.

    Fields that are gone are dropped; unless `quiet`, one that is set (not null, false or 0.0) raises `UserError`.
    """
    for old, new in RENAMED.items():
        path, _, value = old.partition(": ")
        section, field = _section_of(values, path)
        before = section.get(field)
        if value not in ("", before):
            continue
        section.pop(field, None)
        if before is None or before is False or repr(before) == "0.0" or (new is None and quiet):
            continue
        if new is None:
            raise UserError(f"{origin}: {path} ({before}) has no effect since 0.4 (0.3 was its last); remove it")
        if value:
            section[field] = new
        else:
            section, field = _section_of(values, new)
            section.setdefault(field, before)
        if not quiet:
            print(f"{origin}: {old} is now called {new}; the old name ends with the next version", file=sys.stderr)


def _section_of(values: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The section that a dotted path leads into, and the field's name in it."""
    *parents, field = path.split(".")
    for parent in parents:
        section = values.setdefault(parent, {})
        values = section if isinstance(section, dict) else {}
    return values, field
