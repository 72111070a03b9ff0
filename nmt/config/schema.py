"""The configuration's JSON Schema, with which editors complete, explain and check configs as they are typed.

`python -m nmt.config.schema configs/schema.json` writes it. It covers unknown fields, values of the wrong type or size,
and options of parts that are not chosen. Only nmt checks what spans sections, such as sizes that must be equal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from nmt.config.data import ExtraText
from nmt.config.reference import Meaning, fields, sections
from nmt.config.run import Config
from nmt.config.training import TeacherForcingConfig
from nmt.registry import Section, options_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema of a config file (JSON Schema, draft 2020-12)."""
    made = Config.model_json_schema()
    for path, section in sections():
        described = made["$defs"][section.__name__] if path else made
        _describe(described, section)
    # teacher_forcing: 0.5 is short for {ratio: 0.5}, a path of extra text for {path: …}, and a name may be a number.
    forcing = made["$defs"][TeacherForcingConfig.__name__]
    made["$defs"][TeacherForcingConfig.__name__] = {
        "description": forcing.pop("description"),
        "anyOf": [forcing["properties"]["ratio"], forcing],
    }
    extra = made["$defs"][ExtraText.__name__]
    made["$defs"][ExtraText.__name__] = {"description": extra.pop("description"), "anyOf": [{"type": "string"}, extra]}
    name = made["properties"]["name"]
    name["type"] = [name["type"], "number"]
    return {"$schema": DIALECT, "title": "A config of nmt", **_without(made, "title")}


def as_json() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _describe(described: dict[str, Any], section: type[Section]) -> None:
    """Add the meaning of each field, and what each option needs, to a section's part of the schema."""
    properties = described["properties"]
    for field, meanings in fields(section).items():
        properties[field]["description"] = " ".join(map(_sentence, meanings))
        if not any(None in meaning.defaults.values() for meaning in meanings):
            properties[field] = _without_null(properties[field])
        if "$ref" in properties[field]:
            del properties[field]["default"]  # its own fields have their own
    needs = [need for field, meanings in fields(section).items() for need in _needs(section, field, meanings)]
    if needs:
        described["allOf"] = needs


def _without_null(described: dict[str, Any]) -> dict[str, Any]:
    """A field that is null only where the default differs from part to part (see `nmt.registry.section_of`)."""
    if described.get("default", ...) is not None:
        return described
    forms = [form for form in described["anyOf"] if form != {"type": "null"}]
    rest = {key: value for key, value in described.items() if key not in ("anyOf", "default")}
    return rest | (forms[0] if len(forms) == 1 else {"anyOf": forms})


def _sentence(meaning: Meaning) -> str:
    return f"{meaning.condition}: {meaning.text}" if meaning.choice else meaning.text


def _needs(section: type[Section], field: str, meanings: list[Meaning]) -> list[dict[str, Any]]:
    """For an option of some parts: unless it is null, one of them must be chosen."""
    if any(meaning.choice is None for meaning in meanings):
        return []
    chosen = []
    for choice, family in section.families.items():
        users = [name for name, part in family.items() if field in options_of(part).model_fields]
        by_default = section.model_fields[choice].default in users
        if users:
            chosen.append({"properties": {choice: {"enum": users}}} | ({} if by_default else {"required": [choice]}))
    given = {"properties": {field: {"not": {"type": "null"}}}, "required": [field]}
    return [{"if": given, "then": chosen[0] if len(chosen) == 1 else {"anyOf": chosen}}]


def _without(node: Any, key: str) -> Any:
    """The same without pydantic's titles, which repeat the fields' names."""
    if isinstance(node, dict):
        return {k: _without(v, key) for k, v in node.items() if not (k == key and isinstance(v, str))}
    return [_without(item, key) for item in node] if isinstance(node, list) else node


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_json(), encoding="utf-8")
