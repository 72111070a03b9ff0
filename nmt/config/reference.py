"""What each field of the configuration means, as its class says it: for the reference page and for editors.

A field's meaning is the string below it in its class. A field that only some parts of a family read (scores, scopes,
tokenizers, schedules, optimizers) is declared by these parts, and they may disagree about its meaning or its default.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from nmt.config.reading import sections_in
from nmt.config.run import Config
from nmt.registry import Section, alternatives, options_of


class Meaning(NamedTuple):
    """What a field means to the parts of a family that read it; without a `choice` it means that whatever is chosen."""

    text: str
    defaults: dict[str, Any]  # with each of these parts, such as local_m and local_p; of a field of no part's under ""
    choice: str | None = None  # the field that names the parts, such as "scope"

    @property
    def condition(self) -> str:
        """Where the field has this meaning, as in "With `scope: local_m` or `local_p`"; empty if always."""
        if self.choice is None:
            return ""
        first, *others = self.defaults
        return "With " + alternatives([f"`{self.choice}: {first}`", *(f"`{name}`" for name in others)])


def sections(section: type[Section] = Config, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """The dotted path and the class of every section; the whole configuration comes first, with the empty path."""
    yield path, section
    for name, field in section.model_fields.items():
        for inner in sections_in(field.annotation):
            yield from sections(inner, f"{path}.{name}".lstrip("."))


def fields(section: type[Section]) -> dict[str, list[Meaning]]:
    """The meanings of each of a section's fields, in the order in which they are written.

    Raises ValueError for a field without a docstring.
    """
    return {field: _meanings(section, field) for field in section.in_order()}


def _meanings(section: type[Section], field: str) -> list[Meaning]:
    found: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for choice, family in section.families.items():
        for name, part in family.items():
            declared = options_of(part).model_fields.get(field)
            if declared is not None:
                found[choice, _docstring(options_of(part), field)][name] = declared.default
    if not found:
        return [Meaning(_docstring(section, field), {"": section.model_fields[field].default})]
    return [
        Meaning(text, defaults, None if len(defaults) == len(section.families[choice]) else choice)
        for (choice, text), defaults in found.items()
    ]


def _docstring(section: type[Section], field: str) -> str:
    """The string below a field, on one line: in the class that declares it last, of those that say what it means."""
    for owner in section.__mro__:
        if issubclass(owner, Section) and field in (texts := _docstrings(owner)):
            return texts[field]
    raise ValueError(f"{section.__module__}.{section.__qualname__}.{field} has no docstring: write one below it")


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
