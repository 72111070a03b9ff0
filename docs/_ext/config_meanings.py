"""What each field of the configuration means, as its class says it: for the reference page and for editors.

A field's meaning is the string below it in its class. The options of components (scores, scopes, tokenizers, schedules,
optimizers) are declared by these, which may differ in an option's meaning and in its default.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import defaultdict
from functools import cache
from typing import Any, NamedTuple

from nmt.config.reading import sections as sections
from nmt.registry import Section, alternatives, options_class, options_of


class Meaning(NamedTuple):
    """What a field means, of an option with some of the components that have it."""

    text: str
    defaults: dict[str, Any]  # of each of these components, such as local_m and local_p; "" if the field is no option
    choice: str | None = None  # the field that selects the component, such as "scope"; None with all components

    @property
    def condition(self) -> str:
        """Where the field has this meaning, as in "With `scope: local_m` or `local_p`"; empty if always."""
        if self.choice is None:
            return ""
        first, *others = self.defaults
        return "With " + alternatives([f"`{self.choice}: {first}`", *(f"`{name}`" for name in others)])


def fields(section: type[Section]) -> dict[str, list[Meaning]]:
    """The meanings of each of a section's fields, in the order in which they are written.

    Raises ValueError for a field without a docstring.
    """
    return {field: _meanings(section, field, choice) for field, choice in section.all_fields().items()}


def _meanings(section: type[Section], field: str, choice: str | None) -> list[Meaning]:
    if choice is None:
        return [Meaning(_docstring(section, field), {"": section.model_fields[field].default})]
    registry = section.choices[choice]
    defaults: dict[str, dict[str, Any]] = defaultdict(dict)
    for name in registry.option_users()[field]:
        text = _docstring(options_class(registry[name]), field)
        defaults[text][name] = options_of(registry[name]).model_fields[field].default
    return [Meaning(text, d, None if len(d) == len(registry) else choice) for text, d in defaults.items()]


def _docstring(section: Any, field: str) -> str:
    """The string below a field, on one line: in the class that declares it last, of those that say what it means."""
    for owner in section.__mro__:
        if field in vars(owner).get("__annotations__", ()) and field in (texts := _docstrings(owner)):
            return texts[field]
    raise ValueError(f"{section.__module__}.{section.__qualname__}.{field} has no docstring: write one below it")


@cache
def _docstrings(section: Any) -> dict[str, str]:
    """The strings that follow the fields in a class's own source."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(body, ast.ClassDef)
    texts = {}
    for declaration, after in zip(body.body, body.body[1:], strict=False):
        match declaration, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
