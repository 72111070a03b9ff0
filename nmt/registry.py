"""The registry of components, and the sections of the configuration that select them and take their options.

A component is what the configuration selects by name: a score, a scope, a tokenizer, a schedule, an optimizer. It is a
concrete subclass of its kind's base class, in a file of the project or of the user (`load_plugin`), or in an installed
package, which names it as an entry point. Its `Options` are the config fields that it alone reads: a frozen dataclass,
or a `Section`.

A field that selects a component is annotated with the registry, as in `score: Annotated[str, SCORES]`. Its section is
then a discriminated union: a class for each component, or each pair of two such fields, with its options as further
fields. Members are made when first selected: components are imported then, and can be registered at any time.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
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
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import core_schema

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


class Section(BaseModel):
    """A section of the configuration: immutable, and closed to unknown and to unused fields.

    If the validation context is a list, unused fields are dropped instead, and the list gets a line for each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most sections only serve to build others
    choices: ClassVar[Mapping[str, Registry[Any]]] = {}  # of each field that selects a component: its registry
    union: ClassVar[Any] = None  # of a union's member: the section that it is a member of

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        fields = cls.model_fields.items()
        cls.choices = {name: item for name, info in fields for item in info.metadata if isinstance(item, Registry)}

    def __new__(cls, **values: Any) -> Self:
        return super().__new__(cls._member(values))

    def __reduce__(self) -> Any:
        return (self.union or type(self)).model_validate, (self.model_dump(),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        if cls.union is not None or not cls.choices:
            return handler(source)
        return core_schema.with_info_plain_validator_function(cls._validate, metadata={"union": cls})

    @classmethod
    def _validate(cls, values: Any, info: ValidationInfo) -> Any:
        if isinstance(values, cls):
            return values
        member = cls._member(values if isinstance(values, dict) else {})
        if isinstance(values, dict):  # null is no value for an option
            options = member.model_fields.keys() - cls.model_fields.keys()
            values = {field: value for field, value in values.items() if value is not None or field not in options}
        return member.model_validate(values, context=info.context)

    @classmethod
    def _member(cls, values: Mapping[str, Any]) -> type[Self]:
        """The class that the values select; with the default components for names that no component has."""
        components: list[Any] = []
        for choice, registry in ({} if cls.union else cls.choices).items():
            name, default = values.get(choice), cls.model_fields[choice].default
            components.append(registry[name if name in list(registry) else default])
        return _make_member(cls, *components) if components else cls

    def options(self, choice: str) -> dict[str, Any]:
        """The options of the component that the field `choice` selects."""
        fields = options_of(self.choices[choice][getattr(self, choice)]).model_fields
        return {field: getattr(self, field) for field in fields}

    def component(self, choice: str) -> Any:
        """The same as an instance of the component's own class of options."""
        return options_class(self.choices[choice][getattr(self, choice)])(**self.options(choice))

    @classmethod
    def all_fields(cls) -> dict[str, str | None]:
        """The fields of all members in their order; of an option: the field that selects its component."""
        fields: dict[str, str | None] = {}
        for field in (cls.union or cls).model_fields:
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
            options = {option: why and why + alternatives(users) for option, users in registry.option_users().items()}
            unused |= {option: why for option, why in options.items() if option not in cls.model_fields}
        return unused

    @model_validator(mode="before")
    @classmethod
    def _no_unused_field(cls, values: Any, info: ValidationInfo) -> Any:
        return without_unused(values, cls.unused(values), info) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _components_take_their_options(self) -> Self:
        for choice in self.choices:
            self.component(choice)
        return self

    @field_validator("*", mode="wrap")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, validate: ValidatorFunctionWrapHandler) -> object:
        """Python counts true as 1."""
        valid = validate(value)
        if isinstance(value, bool) and not isinstance(valid, bool):
            raise ValueError(f"input should be a number (here: {value})")
        return valid

    @model_serializer(mode="wrap")
    def _write_used_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written, unused = write(self), self.unused(dict(self))
        return {field: written[field] for field in self.all_fields() if field in written and field not in unused}


@cache
def _make_member(section: Any, *components: Any) -> Any:
    fields: dict[str, Any] = {"union": (ClassVar[Any], section)}
    for component in components:
        for name, info in options_of(component).model_fields.items():
            if name in fields or name in section.model_fields:
                raise TypeError(f"{component.__qualname__}: its option {name} is a field of {section.__name__} already")
            fields[name] = info.annotation, info
    return create_model(section.__name__, __base__=section, __module__=section.__module__, **fields)


def without_unused(
    values: dict[str, Any], unused: Mapping[str, str | None], info: ValidationInfo, prefix: str = ""
) -> dict[str, Any]:
    """The values without the unused fields. Raises ValueError, or adds to a list in the context, if some are set."""
    complaints = [
        f"{prefix}{field} ({spelled(value)}) has no effect {why}"
        for field, value in values.items()
        if (why := unused.get(field)) is not None and value is not None
    ]
    if isinstance(info.context, list):
        info.context.extend(complaints)
    elif complaints:
        raise ValueError("; ".join(complaints))
    return {field: value for field, value in values.items() if field not in unused}


C = TypeVar("C")


class Registry(Mapping[str, type[C]]):
    """The components of one kind: the name of each → its class, a concrete subclass of `base`.

    `base` is written as `module:class`. It is imported with the components, which are in its module, in `packages` and
    in entry points, when one of them is first needed.
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
        for package in map(import_module, self._packages):
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
            raise TypeError(
                f"{component.__module__}.{component.__name__} and {first.__module__}.{first.__name__} are both called "
                f"{name}: give each a `name` of its own"
            )

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self))


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


def path_alone(value: Any) -> Any:
    """A path as the section that it is short for."""
    return {"path": value} if isinstance(value, str) else value
