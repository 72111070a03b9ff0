"""The configuration's JSON Schema, with which editors complete, explain and check configs as they are typed.

`python docs/_ext/config_schema.py configs/schema.json` writes it, with the plugins that `NMT_PLUGINS` names. It covers
unknown fields, values of the wrong type or size, and options of components that are not selected. Only nmt checks what
spans sections, such as sizes that must be equal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Union

from config_meanings import Meaning, fields, sections
from pydantic import Field, create_model
from pydantic.json_schema import GenerateJsonSchema

from nmt.config.data import ExtraText
from nmt.config.run import Config
from nmt.config.training import TeacherForcingConfig
from nmt.registry import Section, options_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema of a config file (JSON Schema, draft 2020-12)."""
    made = Config.model_json_schema(schema_generator=_Generator)
    defined = made["$defs"]
    for path, section in sections():
        _describe(defined[section.__name__] if path else made, section)
    # teacher_forcing: 0.5 is short for {ratio: 0.5}, a path for {path: …}, and a name may be a number.
    forcing = defined[TeacherForcingConfig.__name__]
    defined[TeacherForcingConfig.__name__] = {
        "description": forcing.pop("description"),
        "anyOf": [forcing["properties"]["ratio"], forcing],
    }
    extra = defined[ExtraText.__name__]
    defined[ExtraText.__name__] = {"description": extra.pop("description"), "anyOf": [{"type": "string"}, extra]}
    name = made["properties"]["name"]
    name["type"] = [name["type"], "number"]
    made["$defs"] = dict(sorted(defined.items()))
    return {"$schema": DIALECT, "title": "A config of nmt", **_without(made, "title")}


def as_json() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, for which a section has the options of all its components as fields."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        described, section = super().model_schema(schema), schema["cls"]
        if issubclass(section, Section) and section.choices:
            options = {
                field: _option(section, field, choice) for field, choice in section.all_fields().items() if choice
            }
            properties = create_model("Options", **options).model_json_schema(schema_generator=type(self))["properties"]
            properties = described["properties"] | properties
            described["properties"] = {field: properties[field] for field in section.all_fields()}
            described["additionalProperties"] = False
        return described


def _option(section: type[Section], field: str, choice: str) -> Any:
    """The type and the default of an option: any type that a component has for it."""
    registry = section.choices[choice]
    infos = [options_of(registry[name]).model_fields[field] for name in registry.option_users()[field]]
    default = infos[0].default
    alike = all(info.default == default for info in infos)
    types = dict.fromkeys(info.rebuild_annotation() for info in infos)
    return Union[tuple(types)], default if alike else Field(default_factory=lambda: None)  # noqa: UP007


def _describe(described: dict[str, Any], section: type[Section]) -> None:
    """Add the meaning of each field, and what each option needs, to a section's part of the schema."""
    properties = described["properties"]
    meanings = fields(section)
    for field in meanings:
        properties[field]["description"] = " ".join(map(_sentence, meanings[field]))
        if "$ref" in properties[field]:
            properties[field].pop("default", None)  # its own fields have their own
    needs = [_need(section, field, choice) for field, choice in section.all_fields().items() if choice is not None]
    if needs := [need for need in needs if need]:
        described["allOf"] = needs


def _sentence(meaning: Meaning) -> str:
    return f"{meaning.condition}: {meaning.text}" if meaning.choice else meaning.text


def _need(section: type[Section], option: str, choice: str) -> dict[str, Any] | None:
    """Unless an option is null, a component that has it must be selected."""
    users = section.choices[choice].option_users()[option]
    if len(users) == len(section.choices[choice]):
        return None
    by_default = section.model_fields[choice].default in users
    selected = {"properties": {choice: {"enum": users}}} | ({} if by_default else {"required": [choice]})
    return {"if": {"properties": {option: {"not": {"type": "null"}}}, "required": [option]}, "then": selected}


def _without(node: Any, key: str) -> Any:
    """The same without pydantic's titles, which repeat the fields' names."""
    if isinstance(node, dict):
        return {k: _without(v, key) for k, v in node.items() if not (k == key and isinstance(v, str))}
    return [_without(item, key) for item in node] if isinstance(node, list) else node


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_json(), encoding="utf-8")
