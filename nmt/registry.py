"""The registry of components, and the sections of the configuration that take their options.

A component is what the configuration selects by name: a score, a scope, a tokenizer, a schedule, an optimizer. It is a
concrete subclass of its kind's base class, in a file of the project, in a file of the user's own (`load_plugin`), or in
an installed package that names it as an entry point of the group `nmt.components`. Its `Options` are the config fields
that it alone reads: a frozen dataclass, or a `Section`.

`nmt.config.union` makes them fields of the section that selects the component.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError, core_schema

from nmt.system.errors import UserError

Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]  # a product of two such sizes fits into 64 bits
Probability = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
StepCount = Annotated[int, Field(ge=0, le=1_000_000_000)]
PrecisionOption = Literal["auto", "float32", "bf16", "int8"]  # of matrix products
PathString = Annotated[str, AfterValidator(os.path.expanduser)]  # ~ is the home folder, as in a shell

ENTRY_POINTS = "nmt.components"  # the group, whose values are component classes


class Unused(NamedTuple):
    """Why a field is not used, such as "scope: global", and what uses it, such as "scope to local_m"."""

    because: str
    unless: str


class Section(BaseModel):
    """A section of the configuration: immutable, and closed to unknown and to unused fields.

    If the validation context is a list, unused fields are dropped instead, and the list gets a line for each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most sections only serve to build others
    choices: ClassVar[Mapping[str, Registry[Any]]] = {}  # of each field that selects a component: its registry

    @classmethod
    def all_fields(cls) -> dict[str, str | None]:
        """The fields in the order in which they are written; of an option: the field that selects its component."""
        return dict.fromkeys(cls.model_fields)

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, Unused | None]:
        """The fields that have no effect beside the other values; None where another error says why."""
        return {}

    @model_validator(mode="before")
    @classmethod
    def _no_unused_field(cls, values: Any, info: ValidationInfo) -> Any:
        if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
            return values
        unused = cls.unused(values)
        complaints = [
            f"{field} ({spelled(value)}) has no effect with {why.because}; remove it, or set {why.unless}"
            for field, value in values.items()
            if (why := unused.get(field)) is not None and value is not None
        ]
        if isinstance(info.context, list):
            info.context.extend(complaints)
        elif complaints:
            raise ValueError("; ".join(complaints))
        return {field: value for field, value in values.items() if field not in unused}

    @model_serializer(mode="wrap")
    def _write_used_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unused = self.unused({field: getattr(self, field) for field in type(self).model_fields})
        return {field: value for field, value in write(self).items() if field not in unused}

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        """Python counts true as 1."""
        if isinstance(value, bool):
            types = _types_in(cls.model_fields[info.field_name or ""].annotation)
            if bool not in types and (int in types or float in types):
                raise ValueError(f"input should be a number (here: {value})")
        return value

    @field_validator("*")
    @classmethod
    def _no_nul(cls, value: object) -> object:
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and "\0" in text:
                raise ValueError("contains a NUL character, which no path or name can; remove it")
        return value


C = TypeVar("C")


class Registry(Mapping[str, type[C]]):
    """The components of one kind: the name of each → its class, a concrete subclass of `base`.

    It annotates the config field that selects one of them. Those of the project are the classes in `packages`, which
    are imported on first use; installed ones are looked for when a name is not among these.
    """

    def __init__(self, packages: Sequence[str], base: type[C]) -> None:
        self.base = base
        self._packages = packages
        self._classes: dict[str, type[C]] = {}
        self._has_built_in = self._has_installed = False

    def __getitem__(self, name: str) -> type[C]:
        if name not in self._built_in():
            self._add_installed()
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        self._built_in()
        self._add_installed()
        return iter(sorted(self._classes))

    def __len__(self) -> int:
        return len(list(iter(self)))

    __hash__ = object.__hash__

    def option_users(self) -> dict[str, list[str]]:
        """Each option, with the names of the components that have it."""
        users: dict[str, list[str]] = {}
        for name, component in sorted(self._built_in().items()):
            for option in options_of(component).model_fields:
                users.setdefault(option, []).append(name)
        return users

    def add_from(self, module: ModuleType) -> bool:
        """Register the components that a module defines; whether there are any.

        A class is called by its own attribute `name`, or else as its module. Raises TypeError for two of one name.
        """
        classes = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
        components = [c for c in classes if issubclass(c, self.base) and not inspect.isabstract(c)]
        self._built_in()
        for component in components:
            self._add(str(vars(component).get("name", module.__name__.rpartition(".")[2])), component)
        return bool(components)

    def _add(self, name: str, component: type[C]) -> None:
        if self._classes.setdefault(name, component) is not component:
            raise TypeError(
                f"{component.__module__}.{component.__name__} and {self._classes[name].__module__}."
                f"{self._classes[name].__name__} are both called {name}: give each a `name` of its own"
            )

    def _built_in(self) -> dict[str, type[C]]:
        if not self._has_built_in:
            self._has_built_in = True
            for package in map(import_module, self._packages):
                names = sorted(module.name for module in iter_modules(getattr(package, "__path__", ())))
                for module in [package, *(import_module(f"{package.__name__}.{name}") for name in names)]:
                    self.add_from(module)
            for module in _plugins:
                self.add_from(module)
        return self._classes

    def _add_installed(self) -> None:
        if self._has_installed:
            return
        self._has_installed = True
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINTS):
            try:
                component = point.load()
            except Exception as error:  # whatever somebody else's code raises
                raise UserError(f"the installed component {point.value} cannot be loaded: {error!r}") from None
            if inspect.isclass(component) and issubclass(component, self.base):
                self._add(point.name, component)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._known_name)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(self)}

    def _known_name(self, value: Any) -> str:
        if isinstance(value, str) and value in self:
            return value
        raise PydanticKnownError("literal_error", {"expected": alternatives([repr(name) for name in self])})


_plugins: list[ModuleType] = []  # whose components belong to registries that are made later, too
_registries: dict[tuple[str, type[Any]], Registry[Any]] = {}


def registry(package: str, base: type[C], *more: str) -> Registry[C]:
    """The registry of the subclasses of `base`, whose built-in ones are in some packages: the same at each call.

    Modules that `load_plugin` loads are searched for such subclasses, too.
    """
    return _registries.setdefault((package, base), Registry((package, *more), base))


def register(module: ModuleType) -> bool:
    """Add the components that a module defines to the registries of their kinds; whether it defines any."""
    count = sum(components.add_from(module) for components in _registries.values())
    _plugins.append(module)
    return count > 0


def options_of(component: type[Any]) -> type[Section]:
    """The config fields that a component reads, as a section."""
    return _as_section(options_class(component))


@cache
def _as_section(declared: Any) -> type[Section]:
    if issubclass(declared, Section):
        return declared
    hints = get_type_hints(declared, include_extras=True)
    fields: dict[str, Any] = {field.name: (hints[field.name], field.default) for field in dataclasses.fields(declared)}
    return create_model(declared.__name__, __base__=Section, __module__=declared.__module__, **fields)


def options_class(component: type[Any]) -> Any:
    """The class of its options: the section that it is itself, or `Options`, a section or a dataclass."""
    return component if issubclass(component, Section) else getattr(component, "Options", Section)


def annotation_of(info: FieldInfo) -> Any:
    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation


def alternatives(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def spelled(value: object) -> str:
    """As YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _types_in(annotation: Any) -> set[Any]:
    """The types in a field's type, such as `int` and `None` in an optional number between bounds."""
    return {annotation}.union(*map(_types_in, get_args(annotation)))
