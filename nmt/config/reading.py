"""YAML → `Config`, validated once, before anything is loaded or written; and error messages that say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import ValidationError

from nmt import addons
from nmt.config.data import TAG
from nmt.config.plugins import resolve_plugins
from nmt.config.run import NAME, Config
from nmt.config.search import SearchConfig
from nmt.config.yaml_text import LONGEST, parse_yaml, readings
from nmt.registry import Section, alternatives
from nmt.system.errors import UserError
from nmt.system.files import require_regular
from nmt.system.values import shown
from nmt.text.language import code_meant

_PATTERNS = {
    NAME: "a name has letters, digits, '.', '_' and '-', and begins with a letter or digit",
    TAG: "a tag is one word, without blanks",
}


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file, apply `a.b=VALUE` overrides (VALUE is YAML) in their order, and validate the result.

    Raises `UserError` for a file that cannot be read, YAML that cannot be parsed, and all that validation refuses.
    """
    values = read_values(path)
    for override in overrides:
        apply_override(override, values)
    origin = " --set ".join([str(path), *(override[:200] for override in overrides)])
    resolve_plugins(values, origin, Path(path).parent)
    config = parse_config(values, origin)
    for name, side in config.data.sides:
        if code := code_meant(side.language):
            raise UserError(f"{origin}: data.{name}.language: {shown(side.language)} is no code; write {code}")
    return config


def read_values(path: str | Path) -> dict[str, Any]:
    """The plain values of a YAML file, not validated. Raises `UserError` if it cannot be read or is no mapping."""
    try:
        require_regular(Path(path))
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{path}: cannot read the config: {why}; name a YAML file, such as those in configs/") from None
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise UserError(f"{path}: the config must be a mapping of fields to values, such as 'name: my-run'")
    return values


def parse_config(values: dict[str, Any], origin: str) -> Config:
    """Validate plain values; `origin` (a file's name) begins the message of the `UserError` raised for bad ones."""
    try:
        resolve_plugins(values, origin)
        if old_config := addons.offered("old_config"):
            old_config.upgrade(values, origin)
        return Config.model_validate(values)
    except RecursionError:
        raise UserError(f"{origin}: its values lie too deep in others") from None
    except ValidationError as error:
        raise UserError(f"{origin}: {'; '.join(dict.fromkeys(map(_explain, error.errors()[:9])))}") from None


def parse_stored(values: dict[str, Any], origin: str) -> Config:
    """The same for what nmt has stored, maybe version 0.3 or with an add-on: without what has no effect here."""
    unused = [("search", "vocabulary_selection"), ("training", "keep_checkpoints"), ("model", "word_dropout")]
    unused += [("data", "augment")] * (addons.offered("augment_config") is None)
    for name, field in unused + [("training", "trackers")] * (addons.offered("trackers_config") is None):
        if isinstance(section := values.get(name), dict):
            section.pop(field, None)
    return parse_config(values, origin)


def apply_override(override: str, values: dict[str, Any]) -> None:
    """Set a field of plain values by `a.b=VALUE` (VALUE is YAML). Raises `UserError` if that cannot be read."""
    key, equals, text = override.partition("=")
    if not equals or not all(key.split(".")):
        raise UserError(f"--set {override}: expected FIELD=VALUE, such as model.attention.wiring=luong")
    *parents, last = key.split(".")
    for depth, parent in enumerate(parents):
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise UserError(f"--set {override}: {'.'.join(parents[: depth + 1])} is a value, not a section")
    values[last] = parse_yaml(text, f"--set {override}")


def override_search(
    search: SearchConfig, **options: int | float | str | Mapping[str, int | float] | None
) -> SearchConfig:
    """The settings, replaced by the options that are not None; `sampling` may have some of its fields alone.

    A beam size turns the sampling of the settings off. Raises `UserError` for a bad value, and for both.
    """
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if "beam" in changes and "beam_size" not in changes:
        changes["beam_size"] = changes.pop("beam")
    if {"sampling", "beam_size"} <= changes.keys():
        raise UserError("a beam is for search, and sampling (temperature, top-k) draws at random: give one, not both")
    if isinstance(sampling := changes.get("sampling"), Mapping):
        changes["sampling"] = dict(search.sampling or ()) | dict(sampling)
    elif "beam_size" in changes:
        changes["sampling"] = None
    try:
        return SearchConfig.model_validate(dict(search) | changes)
    except ValidationError as error:
        raise UserError("; ".join(_explain(e, "search") for e in error.errors()[:9])) from None


def to_yaml(config: Config) -> str:
    """Every field that has an effect, defaults included, as YAML that `load_config` reads back to an equal value."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """The dotted names of the fields that differ between two dumps of the same parts of a configuration."""
    for field in dict.fromkeys([*before, *now]):
        one, other = before.get(field), now.get(field)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from (f"{field}.{name}" for name in differences(one, other))
        elif one != other:
            yield field


def explain(error: ValidationError) -> str:
    """Pydantic's errors about values that are no config, on one line."""
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {_reason(e)}" for e in error.errors()[:9])


def _reason(error: Any) -> str:
    """What is wrong by one of pydantic's errors, and the value."""
    fix, value = "", error["input"]
    if isinstance(value, str) and error["type"].startswith(("int_", "float_")):
        numbers = [str(x) for x in readings(value) if error["type"].startswith("float_") or isinstance(x, int)]
        fix = f"; write {alternatives(numbers)}" if numbers else ""
    return f"{error['msg'][0].lower()}{error['msg'][1:]}{fix} (here: {shown(value)})"


def _explain(error: Any, *within: str) -> str:
    """One of pydantic's errors about a config, or a section `within` one, in our words: field, what is wrong, fix."""
    path = [*within, *(str(name) for name in error["loc"] if not str(name).startswith("constrained-"))]  # of unions
    value, reason = shown(error["input"]), _reason(error)
    match error["type"]:
        case "extra_forbidden":
            reason = f"unknown field ({_hint(path)})"
        case "missing":
            reason = "missing; set it"
        case "value_error":
            reason = str(error["ctx"]["error"])
        case "model_type":
            section = _section_at(path)
            first = next(iter([*section.choices, *section.model_fields]))  # a choice says most
            name = "" if path[-1].isdecimal() else f"{path[-1]}: "  # of a list's entry there is none
            reason = f"a section is expected, such as {name}{{{first}: …}} (here: {value})"
        case "string_pattern_mismatch" if error["ctx"]["pattern"] in _PATTERNS:
            reason = f"{_PATTERNS[error['ctx']['pattern']]} (here: {value})"
        case "tuple_type" | "list_type":
            reason = f"a list is expected, such as [{value}] (here: {value})"
        case "string_type":
            reason = f"text is expected (here: {'nothing' if error['input'] is None else value})"
    return ": ".join(filter(None, [".".join(path), reason]))


def _hint(path: Sequence[str]) -> str:
    """What may have been meant by an unknown field: one of that name elsewhere, one of a like name here, or any."""
    name, siblings = path[-1], list(_section_at(path[:-1]).all_fields())
    same_name = [f"{at}.{name}".lstrip(".") for at, section in sections() if name in section.all_fields()]
    initials = [field for field in siblings if "".join(word[0] for word in field.split("_")) == name]  # lr
    near = same_name or initials or difflib.get_close_matches(name[:100], siblings, n=1, cutoff=0.5)
    return f"did you mean {alternatives(near)}?" if near else "known fields: " + ", ".join(siblings)


def _section_at(path: Sequence[str]) -> type[Section]:
    return dict(sections())[".".join(name for name in path if not name.isdecimal())]  # which counts a list's values


def sections(section: type[Section] = Config, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """The dotted path and the class of every section; the whole configuration comes first, with the empty path."""
    yield path, section
    for name, info in section.model_fields.items():
        types = [info.annotation]
        for kind in types:  # which grows
            if isinstance(kind, type) and get_origin(kind) is None and issubclass(kind, Section):
                yield from sections(kind, f"{path}.{name}".lstrip("."))
            types.extend(get_args(kind))
