"""Parts and their options: how a file in a folder becomes a choice in the config.

A score, a scope, a tokenizer, a schedule or an optimizer is one class in one file. The folder that holds the file is a
family: a mapping from each file's name, which is what the config calls the part, to the class in it. A part declares
the config fields that it alone reads as `Options`; a section of the config takes them all in, and refuses those that
the chosen parts do not read.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo

Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]  # a product of two such sizes fits into 64 bits
Probability = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Updates = Annotated[int, Field(ge=0, le=1_000_000_000)]
WantedPrecision = Literal["auto", "float32", "bf16", "int8"]  # of matrix products
Place = Annotated[str, AfterValidator(os.path.expanduser)]  # of a file or folder; ~ is the home folder, as in a shell


class Idle(NamedTuple):
    """Why a field has no effect, such as "scope: global", and what gives it one, such as "scope to local_m"."""

    because: str
    unless: str


class Section(BaseModel):
    """A part of the configuration: immutable, and closed to keys that it does not know or that have no effect.

    `families` maps each field that names a part to the family that the part belongs to. If the validation context is a
    list, fields that have no effect are dropped, and the list gets a line for each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most sections only serve to build others
    families: ClassVar[Mapping[str, Mapping[str, type[Any]]]] = {}

    @classmethod
    def idle(cls, values: Mapping[str, Any]) -> dict[str, Idle]:
        """The fields that have no effect beside the other values."""
        found: dict[str, Idle] = {}
        read: set[str] = set()
        for choice, family in cls.families.items():
            name = values.get(choice, cls.model_fields[choice].default)
            if not isinstance(name, str) or name not in family:
                return {}  # an error of its own
            read |= options_of(family[name]).model_fields.keys()
            for field in _all_options(family).keys() - options_of(family[name]).model_fields.keys():
                users = [other for other, part in family.items() if field in options_of(part).model_fields]
                found[field] = Idle(f"{choice}: {name}", f"{choice} to {alternatives(users)}")
        return {field: why for field, why in found.items() if field not in read}

    def chosen(self, choice: str) -> Any:
        """The options of the part that the field `choice` names, as an instance of its own `Options`."""
        options = options_of(self.families[choice][getattr(self, choice)])
        return options(**{field: getattr(self, field) for field in options.model_fields})

    @model_validator(mode="before")
    @classmethod
    def _has_an_effect(cls, values: Any, info: ValidationInfo) -> Any:
        if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
            return values
        idle = cls.idle(values)
        complaints = [
            f"{f} ({spelled(values[f])}) has no effect with {idle[f].because}; remove it, or set {idle[f].unless}"
            for f in values
            if f in idle and values[f] is not None
        ]
        if isinstance(info.context, list):
            info.context.extend(complaints)
        elif complaints:
            raise ValueError("; ".join(complaints))
        return {f: v for f, v in values.items() if f not in idle} | cls._defaults(values)

    @classmethod
    def _defaults(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults of the chosen parts' options, which differ from part to part, where no value is given."""
        defaults: dict[str, Any] = {}
        for choice, family in cls.families.items():
            name = values.get(choice, cls.model_fields[choice].default)
            if isinstance(name, str) and name in family:
                defaults |= {f: info.default for f, info in options_of(family[name]).model_fields.items()}
        return {field: default for field, default in defaults.items() if values.get(field) is None}

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        for choice in self.families:
            try:
                self.chosen(choice)
            except ValidationError as error:
                raise ValueError(_first_reason(error)) from None
        return self

    @classmethod
    def in_order(cls) -> list[str]:
        """All fields, as they are written: after each one that names a part, the options of these parts."""
        chooses = {option: choice for choice, family in cls.families.items() for option in _all_options(family)}
        places = {field: number for number, field in enumerate(cls.model_fields)}

        def place(field: str) -> tuple[int, bool]:
            return places[chooses.get(field, field)], field in chooses

        return sorted(cls.model_fields, key=place)

    @model_serializer(mode="wrap")
    def _with_an_effect(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        idle = self.idle({field: getattr(self, field) for field in type(self).model_fields})
        written = write(self)
        return {field: written[field] for field in self.in_order() if field in written and field not in idle}

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        """Python counts true as 1."""
        field = cls.model_fields[info.field_name or ""]
        kinds = _kinds(field.annotation)
        if isinstance(value, bool) and bool not in kinds and (int in kinds or float in kinds):
            raise ValueError(f"input should be a number (here: {value})")
        return value

    @field_validator("*")
    @classmethod
    def _no_nul(cls, value: object) -> object:
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str) and "\0" in part:
                raise ValueError("contains a NUL character, which no path or name can; remove it")
        return value


class Part:
    """What the config chooses by name. The class docstring begins with a line that says what it is."""

    Options: ClassVar[type[Section]] = Section


P = TypeVar("P")


def family(package: str, base: type[P]) -> Mapping[str, type[P]]:
    """The parts in a package: the name of each module → the concrete subclass of `base` that it defines.

    A module that defines none, such as that of an abstract base class, is no part. Raises TypeError for one that
    defines several.
    """
    parts: dict[str, type[P]] = {}
    for name in sorted(module.name for module in iter_modules(import_module(package).__path__)):
        module = import_module(f"{package}.{name}")
        found = [
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and issubclass(value, base)
            and value.__module__ == module.__name__
            and not inspect.isabstract(value)
        ]
        if len(found) > 1:
            raise TypeError(f"{package}.{name} defines {len(found)} parts: give each a file of its own")
        parts.update((name, part) for part in found)
    return MappingProxyType(parts)


def options_of(part: type[Any]) -> type[Section]:
    """The config fields that a part reads: a section that it declares as `Options`, or is itself."""
    return part if issubclass(part, Section) else part.Options


def section_of(name: str, *families: Mapping[str, type[Any]]) -> type[Section]:
    """A section whose fields are the options of all parts of some families.

    Where parts disagree about a field's type it takes any of them, and where they disagree about its default it has
    none: the chosen part checks and fills it.
    """
    fields: dict[str, Any] = {}
    for parts in families:
        for field, declared in _all_options(parts).items():
            types = list(dict.fromkeys(_annotation(info) for info in declared))
            same = all(info.default == declared[0].default for info in declared)
            kind = types[0] if len(types) == 1 and same else _any_of([*types, type(None)])
            fields[field] = (kind, declared[0].default if same else None)
    return create_model(name, __base__=Section, __module__=__name__, **fields)


def names_of(parts: Mapping[str, type[Any]]) -> Any:
    """The type of a field that names a part of a family."""
    return Literal[tuple(parts)]


def _kinds(annotation: Any) -> set[Any]:
    """The types in a field's type, such as `int` and `None` in an optional number between bounds."""
    return {annotation}.union(*map(_kinds, get_args(annotation)))


def alternatives(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def spelled(value: object) -> str:
    """As YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _all_options(parts: Mapping[str, type[Any]]) -> dict[str, list[FieldInfo]]:
    """Each option of any part, with all that the parts say of it."""
    options: dict[str, list[FieldInfo]] = {}
    for part in parts.values():
        for field, info in options_of(part).model_fields.items():
            options.setdefault(field, []).append(info)
    return options


def _annotation(info: FieldInfo) -> Any:
    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation


def _any_of(types: Sequence[Any]) -> Any:
    union = types[0]
    for kind in types[1:]:
        union = union | kind
    return union


def _first_reason(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{'.'.join(map(str, first['loc']))}: {message} (here: {spelled(first['input'])})"
