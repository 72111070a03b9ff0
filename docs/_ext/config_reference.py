"""Every section and field of the configuration, from the classes that check them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from attention_table import typeset
from config_meanings import Meaning, fields, sections
from config_schema import schema

from nmt.registry import Section


def markdown() -> str:
    described = schema()
    shown: dict[str, dict[str, str]] = {}  # of each section, by its path: the descriptions of its fields
    blocks = []
    for path, section in sections():
        own = described["$defs"][section.__name__] if path else described
        own = next((form for form in own.get("anyOf", ()) if "properties" in form), own)
        descriptions = _descriptions(path, section, own)
        similar = next((other for other, fields in shown.items() if _is_similar(descriptions, fields)), None)
        blocks.append(f"## {path or 'A run'}\n\n{_docstring(section)}")
        if similar is None:
            shown[path] = descriptions
        else:  # the target's are those of the source
            missing = [f"`{field}`" for field in shown[similar] if field not in descriptions]
            without = f", without {', '.join(missing)}" if missing else ""
            blocks.append(f"The fields are those of [{similar}](#{_anchor(similar)}){without}. These differ:")
            descriptions = {field: text for field, text in descriptions.items() if text != shown[similar][field]}
        prefix = "-".join(["config", *filter(None, path.split(".")), ""])
        blocks.append(
            "\n".join(f'- <a id="{prefix}{field}"></a>`{field}` {text}' for field, text in descriptions.items())
        )
        if similar is None:
            blocks += [_components(choice, components) for choice, components in section.choices.items()]
    return "\n\n".join(blocks)


def _is_similar(descriptions: dict[str, str], others: dict[str, str]) -> bool:
    """Whether most of a section's fields are described by the same words as those of another."""
    same = sum(others.get(field) == text for field, text in descriptions.items())
    return descriptions.keys() <= others.keys() and 2 * same > len(descriptions)


def _descriptions(path: str, section: type[Section], own: dict[str, Any]) -> dict[str, str]:
    """The type, the default and the meaning of each field."""
    descriptions = {}
    for field, meanings in fields(section).items():
        if "$ref" in own["properties"][field]:
            inner = f"{path}.{field}".lstrip(".")
            descriptions[field] = f"(section [{inner}](#{_anchor(inner)})): {_text(meanings)}"
        else:
            default = "required" if field in own.get("required", ()) else f"default {_defaults(meanings)}"
            kind = _kind(own["properties"][field])
            if default == "default `null`":
                kind = kind.removesuffix(" or `null`")
            descriptions[field] = f"({kind}; {default}): {_text(meanings)}"
    return descriptions


def _anchor(heading: str) -> str:
    return heading.replace(".", "")


def _components(choice: str, components: Any) -> str:
    """What each value of a field that names a component stands for; formulas are on the page of attention."""
    if choice in ("score", "scope", "normalizer", "cell"):
        return f"[What each {choice} computes](attention.md#{choice}s)."
    lines = (f"- `{choice}: {name}`: {typeset(_docstring(kind).splitlines()[0])}" for name, kind in components.items())
    return "\n".join(lines)


def _docstring(thing: type[Any]) -> str:
    """A class's own docstring, without the indent of its lines."""
    if not thing.__doc__:
        raise ValueError(f"{thing.__qualname__} has no docstring")
    first, _, rest = thing.__doc__.strip().partition("\n")
    return "\n".join([first, *(line.strip() for line in rest.splitlines())])


def _text(meanings: list[Meaning]) -> str:
    return " ".join(f"{m.condition}: {_in_sentence(m.text)}" if m.choice else m.text for m in meanings)


def _in_sentence(text: str) -> str:
    """With a small first letter, unless it is a symbol, as the D of a window."""
    word = text.split(maxsplit=1)[0].rstrip(":")
    return text if len(word) == 1 and word != "A" else f"{text[0].lower()}{text[1:]}"


def _defaults(meanings: list[Meaning]) -> str:
    """The default, or each with the parts that have it."""
    parts: dict[str, list[str]] = defaultdict(list)
    for meaning in meanings:
        for part, default in meaning.defaults.items():
            parts[_spelled(default)].append(part)
    if len(parts) == 1:
        return next(iter(parts))
    return ", ".join(f"{default} ({', '.join(names)})" for default, names in parts.items())


def _spelled(value: Any) -> str:
    """As YAML spells it."""
    match value:
        case None:
            return "`null`"
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return f"`[{', '.join(map(str, value))}]`"
        case _:
            return f"`{value}`"


def _kind(schema: dict[str, Any]) -> str:
    """A field's type in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(form) for form in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        return "section"
    kind = schema["type"]
    if isinstance(kind, list):
        return "string"
    if kind in ("integer", "number"):
        return kind + _bounds(schema)
    if kind == "array" and "$ref" in schema["items"]:
        return "list of strings or sections"
    if kind == "array":
        item, _, bounds = _kind(schema["items"]).partition(" ")
        return f"list of {item}s {bounds}".rstrip()
    return "`null`" if kind == "null" else str(kind)


def _bounds(schema: dict[str, Any]) -> str:
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    huge = 1_000_000_000  # against slips of the finger, not worth a word
    bounds = [f"{sign} {schema[key]}" for key, sign in names.items() if key in schema and schema[key] < huge]
    return f" {', '.join(bounds)}" if bounds else ""
