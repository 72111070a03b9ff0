"""The names of version 0.3, which are read for this version."""

from __future__ import annotations

from typing import Any

# Fields by their dotted names, and values as "field: value".
RENAMED = {
    "training.schedule.kind: trapezoid": "warmup_stable_decay",
    "data.source.respelling": "data.augment.typos",
    "data.copying": "data.augment.copying",
    "data.source.monolingual": "data.augment.source_monolingual",
    "data.target.monolingual": "data.augment.target_monolingual",
}


def rename(values: dict[str, Any]) -> list[str]:
    """Replace old names in plain values, and return a warning for each that was replaced."""
    warnings = []
    for old, new in RENAMED.items():
        path, _, value = old.partition(": ")
        *parents, field = path.split(".")
        section: Any = values
        for parent in parents:
            section = section.get(parent) if isinstance(section, dict) else None
        if not isinstance(section, dict) or field not in section or (value and section[field] != value):
            continue
        if value:
            section[field] = new
        elif (moved := section.pop(field)) is not None:
            *parents, name = new.split(".")
            section = values
            for parent in parents:
                section = section.setdefault(parent, {}) if isinstance(section, dict) else None
            if isinstance(section, dict):
                section.setdefault(name, moved)
        else:
            continue
        warnings.append(f"{old} is now called {new}; the old name ends with the next version")
    return warnings
