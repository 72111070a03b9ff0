"""The registry of components, and the sections of the configuration that select them and take their options.

A component is what the configuration selects by name: a score, a scope, a tokenizer, a schedule, an optimizer. It is a
concrete subclass of its kind's base class, in a file of the project or of the user (`load_plugin`), or in an installed
package, which names it as an entry point. Its `Options` are the config fields that it alone reads: a frozen dataclass,
or a `Section`.

A field that selects a component is annotated with the registry, as in `score: Annotated[str, SCORES]`. Its section then
has the component's options as further fields. Components are imported when one is first needed, and can be registered
at any time.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticKnownError, core_schema

from nmt.addons import addons
from nmt.system.errors import UserError
from nmt.system.values import is_unicode, shown

_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _path(text: str) -> str:
    """A path in which ~ is the home folder, as in a shell."""
    if "\0" in text or not is_unicode(text):
        raise ValueError(f"no path can be {shown(text)}; remove NUL and halves of characters")
    if _CONTROL.search(text):
        raise ValueError(f"a control character, as YAML makes of \\t in double quotes: write {shown(text)}, in single")
    return os.path.expanduser(text)


Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]  # a product of two such sizes fits into 64 bits
Probability = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, le=1e6)]  # products with larger ones soon do not fit into 32 bits
NonNegative = Annotated[float, Field(ge=0, le=1e6)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
StepCount = Annotated[int, Field(ge=0, le=1_000_000_000)]
PrecisionOption = Literal["auto", "float32", "bf16", "int8"]  # of matrix products
PathString = Annotated[str, AfterValidator(_path)]

ENTRY_POINTS = "nmt.components"  # the group, whose values are component classes


class Section(BaseModel):
    """A section of the configuration: immutable, and closed to unknown and to unused fields."""

    # A text field takes the digits that YAML read as a number. Most sections only serve to build others.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, defer_build=True)
    choices: ClassVar[Mapping[str, Registry[Any]]] = {}  # of each field that selects a component: its registry

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        fields = cls.model_fields.items()
        cls.choices = {name: item for name, info in fields for item in info.metadata if isinstance(item, Registry)}
        if cls.choices:
            cls.model_config["extra"] = "allow"  # its components' options

    @model_validator(mode="wrap")
    @classmethod
    def _with_options(cls, values: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """The section with its components' options, by their own classes, as further fields."""
        if not isinstance(values, dict):
            return validate(values)
        values = cls._without_unused(values)
        if cls.model_config["extra"] == "forbid":
            return validate(values)
        components: list[Any] = []
        for choice, registry in cls.choices.items():
            name, default = values.get(choice), cls.model_fields[choice].default
            components.append(registry[name if name in list(registry) else default])
        # Null is no value for an option.
        values = {field: value for field, value in values.items() if value is not None or field in cls.model_fields}
        section = validate(dict(_closed(cls, *components).model_validate(values)))
        for choice in cls.choices:
            section.component(choice)  # whose class may refuse options that do not go together
        return section

    def options(self, choice: str) -> dict[str, Any]:
        """The options of the component that the field `choice` selects."""
        fields = options_of(self.choices[choice][getattr(self, choice)]).model_fields
        return {field: getattr(self, field) for field in fields}

    def component(self, choice: str) -> Any:
        """The same as an instance of the component's own class of options."""
        return options_class(self.choices[choice][getattr(self, choice)])(**self.options(choice))

    @classmethod
    def all_fields(cls) -> dict[str, str | None]:
        """The fields, and the options of all components, in their order; of an option: the field that selects it."""
        fields: dict[str, str | None] = {}
        for field in cls.model_fields:
            fields[field] = None
            fields |= dict.fromkeys(cls.choices[field].option_users() if field in cls.choices else (), field)
        return fields

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        """The fields that have no effect, with the reason and the fix; None where another error says why."""
        unused: dict[str, str | None] = {}
        for choice, registry in cls.choices.items():
            name = values.get(choice, cls.model_fields[choice].default)
            why = f"with {choice}: {name}; remove it, or set {choice} to " if name in list(registry) else None
            users = registry.option_users().items()
            unused |= {option: why and why + alternatives(names) for option, names in users if name not in names}
        return unused

    @classmethod
    def _without_unused(cls, values: dict[str, Any]) -> dict[str, Any]:
        unused = cls.unused(values)
        set_here = {field: value for field, value in values.items() if value is not None and unused.get(field)}
        if set_here:
            raise ValueError("; ".join(f"{f} ({spelled(v)}) has no effect {unused[f]}" for f, v in set_here.items()))
        return {field: value for field, value in values.items() if field not in unused}

    @field_validator("*", mode="wrap")
    @classmethod
    def _numbers_are_plain(cls, value: object, validate: ValidatorFunctionWrapHandler) -> object:
        """Python counts true as 1, and reads 010 and 1_0 as 10."""
        valid = validate(value)
        if isinstance(value, bool) and not isinstance(valid, bool):
            raise ValueError(f"input should be a number (here: {value})")
        if isinstance(value, str) and type(valid) in (int, float) and not _NUMBER.fullmatch(value):
            raise PydanticKnownError("int_parsing" if isinstance(valid, int) else "float_parsing")
        return valid

    @model_serializer(mode="wrap")
    def _write_used_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written, unused = write(self), self.unused(dict(self))
        return {field: written[field] for field in self.all_fields() if field in written and field not in unused}


@cache
def _closed(section: Any, *components: Any) -> Any:
    """The section as a class whose fields are its own and the options of these components."""
    fields: dict[str, Any] = {}
    for component in components:
        for name, info in options_of(component).model_fields.items():
            if name in fields or name in section.model_fields:
                raise TypeError(f"{component.__qualname__}: its option {name} is a field of {section.__name__} already")
            fields[name] = info.annotation, info
    closed = create_model(section.__name__, __base__=section, __module__=section.__module__, **fields)
    closed.model_config["extra"] = "forbid"
    return closed


C = TypeVar("C")


class Registry(Mapping[str, type[C]]):
    """The components of one kind: the name of each → its class, a concrete subclass of `base`.

    `base` is written as `module:class`. It is imported with the components, which are in its module, in `packages` and
    in those of add-ons and entry points, when one of them is first needed.
    """

    def __init__(self, base: str, *packages: str) -> None:
        self._module, _, self._base = base.partition(":")
        self._packages = (self._module, *packages)
        self._classes: dict[str, type[C]] = {}
        _registries.append(self)

    @cached_property
    def base(self) -> type[C]:
        return cast(type[C], getattr(import_module(self._module), self._base))

    @cached_property
    def _components(self) -> dict[str, type[C]]:
        packages = (*self._packages, *(a.components[self._base] for a in addons() if self._base in a.components))
        for package in map(import_module, packages):
            names = sorted(module.name for module in iter_modules(getattr(package, "__path__", ())))
            for module in [package, *(import_module(f"{package.__name__}.{name}") for name in names)]:
                self.add_from(module)
        for point in entry_points(group=ENTRY_POINTS):
            try:
                component = point.load()
            except Exception as error:  # whatever somebody else's code raises
                raise UserError(f"the installed component {point.value} cannot be loaded: {error!r}") from None
            if inspect.isclass(component) and issubclass(component, self.base):
                self._add(point.name, component)
        return self._classes

    def __getitem__(self, name: str) -> type[C]:
        return self._components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._components))

    def __len__(self) -> int:
        return len(self._components)

    def option_users(self) -> dict[str, list[str]]:
        """Each option, with the names of the components that have it."""
        users: dict[str, list[str]] = {}
        for name, component in self.items():
            for option in options_of(component).model_fields:
                users.setdefault(option, []).append(name)
        return users

    def add_from(self, module: ModuleType) -> bool:
        """Register the components that a module defines; whether there are any.

        A class is called by its own attribute `name`, or else as its module. Raises TypeError for two of one name.
        """
        classes = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
        components = [c for c in classes if issubclass(c, self.base) and not inspect.isabstract(c)]
        for component in components:
            self._add(str(vars(component).get("name", module.__name__.rpartition(".")[2])), component)
        return bool(components)

    def _add(self, name: str, component: type[C]) -> None:
        if (first := self._classes.setdefault(name, component)) is not component:
            one, other = (f"{kind.__module__}.{kind.__name__}" for kind in (component, first))
            raise TypeError(f"{one} and {other} are both called {name}: give each a `name` of its own")

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(self)}

    def _checked(self, name: Any) -> Any:
        if name not in list(self):
            raise PydanticKnownError("literal_error", {"expected": alternatives([repr(name) for name in self])})
        return name


_registries: list[Registry[Any]] = []


def register(module: ModuleType) -> bool:
    """Add the components that a module defines to the registries of their kinds; whether it defines any."""
    # After the project's own, so that an error about two of one name is the module's.
    return sum(len(registry) > 0 and registry.add_from(module) for registry in _registries) > 0


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


def alternatives(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def spelled(value: object) -> str:
    """As YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
