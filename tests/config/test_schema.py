"""The configuration's JSON Schema and reference: complete, up to date, and in agreement with what nmt accepts."""

from pathlib import Path
from typing import Any

import config_meanings
import jsonschema
import pytest
import yaml
from config_schema import as_json, schema

from nmt.config.reading import load_config, to_yaml
from nmt.config.run import Config
from nmt.registry import Section, options_of

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = sorted(CONFIGS.rglob("*.yaml"))
HEADER = "# yaml-language-server: $schema="
VALIDATOR = jsonschema.Draft202012Validator(schema())


def complaints(config: dict[str, Any]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(config)]


def test_the_committed_schema_is_up_to_date() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    committed = (CONFIGS / "schema.json").read_text(encoding="utf-8")
    assert committed == as_json(), "run: python docs/_ext/config_schema.py configs/schema.json"


def test_shipped_configs_name_it_and_fit() -> None:
    for path in SHIPPED:
        text = path.read_text(encoding="utf-8")
        first = text.splitlines()[0]
        assert first.startswith(HEADER), path
        assert (path.parent / first.removeprefix(HEADER)).resolve() == CONFIGS / "schema.json", path
        assert complaints(yaml.safe_load(text)) == [], path
        assert complaints(yaml.safe_load(to_yaml(load_config(path)))) == [], path


GOOD = [
    {"name": 7},
    {"name": "x", "training": {"teacher_forcing": 0.5}},
    {"name": "x", "model": {"attention": {"scope": "local_m", "window": 3, "size": None}}},
]
BAD = [
    {"name": "x", "modle": {}},
    {"name": "x", "training": {"batch_size": 0}},
    {"name": "x", "training": {"schedule": {"factor": 0.7}}},
    {"name": "x", "model": {"attention": {"score": "dot", "size": 3}}},
]


def test_it_agrees_with_what_nmt_accepts() -> None:
    for config in GOOD:
        Config.model_validate(config)
        assert complaints(config) == []
    for config in BAD:
        with pytest.raises(ValueError, match="validation error"):
            Config.model_validate(config)
        assert complaints(config)


def test_every_field_has_a_meaning() -> None:
    for path, section in config_meanings.sections():
        found = config_meanings.fields(section)
        assert list(found) == list(section.all_fields())
        assert all(meaning.text.endswith((".", "…")) for meanings in found.values() for meaning in meanings), path


def test_options_say_which_components_have_them() -> None:
    for _, section in config_meanings.sections():
        for choice, registry in section.choices.items():
            for name, component in registry.items():
                for option in options_of(component).model_fields:
                    meanings = config_meanings.fields(section)[option]
                    assert any(m.choice is None or (m.choice == choice and name in m.defaults) for m in meanings)


def test_a_field_without_a_docstring_is_an_error() -> None:
    class Silent(Section):
        """A section."""

        told: int = 1
        """A number."""
        untold: int = 2

    with pytest.raises(ValueError, match=r"Silent\.untold has no docstring"):
        config_meanings.fields(Silent)
