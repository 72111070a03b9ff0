"""What each field of the configuration means, as its class says it: for the reference page and for editors.

A field's meaning is the string below it in its class. A field that only some parts of a family read (scores, scopes,
tokenizers, schedules) is declared by these parts, and they may disagree about its meaning or its default.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from nmt.config.reading import sections_in
from nmt.config.run import Config
from nmt.parts import Section, alternatives, options_of


class Meaning(NamedTuple):
    """What a field means to the parts of a family that read it; without a `choice` it means that whatever is chosen."""

    text: str
    default: Any
    choice: str | None = None  # the field that names the parts, such as "scope"
    parts: tuple[str, ...] = ()  # such as ("local_m", "local_p")

    @property
    def condition(self) -> str:
        """Where the field has this meaning, as in "With `scope: local_m` or `local_p`"; empty if always."""
        if self.choice is None:
            return ""
        first, *others = self.parts
        return "With " + alternatives([f"`{self.choice}: {first}`", *(f"`{name}`" for name in others)])


def sections(section: type[Section] = Config, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """The dotted path and the class of every section; the whole configuration comes first, with the empty path."""
    yield path, section
    for name, field in section.model_fields.items():
        for inner in sections_in(field.annotation):
            yield from sections(inner, f"{path}.{name}".lstrip("."))


def fields(section: type[Section]) -> dict[str, list[Meaning]]:
    """The meanings of each of a section's fields: first of those that are always read, then of the parts' options.

    Raises ValueError for a field without a docstring.
    """
    found = {field: _meanings(section, field) for field in section.model_fields}
    return dict(sorted(found.items(), key=lambda item: item[1][0].choice is not None))


def _meanings(section: type[Section], field: str) -> list[Meaning]:
    found: dict[Meaning, list[str]] = {}
    for choice, family in section.families.items():
        for name, part in family.items():
            declared = options_of(part).model_fields.get(field)
            if declared is not None:
                meaning = Meaning(_docstring(options_of(part), field), declared.default, choice)
                found.setdefault(meaning, []).append(name)
    if not found:
        return [Meaning(_docstring(section, field), section.model_fields[field].default)]
    always = [len(parts) == len(section.families[str(meaning.choice)]) for meaning, parts in found.items()]
    return [
        meaning._replace(choice=None) if read else meaning._replace(parts=tuple(parts))
        for read, (meaning, parts) in zip(always, found.items(), strict=True)
    ]


def _docstring(section: type[Section], field: str) -> str:
    """The string below a field in the class that declares it, on one line."""
    for owner in section.__mro__:
        if issubclass(owner, Section) and field in inspect.get_annotations(owner):
            if field in (texts := _docstrings(owner)):
                return texts[field]
            raise ValueError(f"{owner.__module__}.{owner.__qualname__}.{field} has no docstring: write one below it")
    raise ValueError(f"{section.__qualname__} has no field {field}")


@cache
def _docstrings(section: type[Section]) -> dict[str, str]:
    """The strings that follow the fields in a class's own source."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(body, ast.ClassDef)
    texts = {}
    for declaration, after in zip(body.body, body.body[1:], strict=False):
        match declaration, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
