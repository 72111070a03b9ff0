"""Sections whose further fields depend on the components that they select.

A field that selects a component is annotated with the registry, as in `score: Annotated[str, SCORES]`. The section is
then a discriminated union: for each component it is a class with that component's options as further fields. With two
such fields, as in `model.attention`, it is a union over both. A member is made when it is first selected, so that
components can be registered at any time, and only those in use cost anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import (
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core.core_schema import CoreSchema, with_info_plain_validator_function

from nmt.registry import Registry, Section, Unused, alternatives, annotation_of, options_class, options_of


class UnionSection(Section):
    """A section with the options of the components that its fields select."""

    union: ClassVar[type[UnionSection] | None] = None  # of a member: the section that it is a member of

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        fields = cls.model_fields.items()
        cls.choices = {name: item for name, info in fields for item in info.metadata if isinstance(item, Registry)}

    def __new__(cls, **values: Any) -> Self:
        return super().__new__(cls._member(values))

    def __reduce__(self) -> Any:
        return type(self)._section().model_validate, (self.model_dump(),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if cls is UnionSection or cls.union is not None:
            return handler(source)
        return with_info_plain_validator_function(cls._validate, metadata={"union": cls})

    @classmethod
    def _validate(cls, values: Any, info: ValidationInfo) -> Any:
        if isinstance(values, cls):
            return values
        member = cls._member(values if isinstance(values, dict) else {})
        return member.model_validate(values, context=info.context)

    @classmethod
    def _member(cls, values: Mapping[str, Any]) -> type[Self]:
        """The member of the union that the values select; that of the defaults for names that are not known."""
        if cls.union is not None:
            return cls
        components: list[Any] = []
        for choice, registry in cls.choices.items():
            name, default = values.get(choice), cls.model_fields[choice].default
            components.append(registry[name if isinstance(name, str) and name in registry else default])
        return _make_member(cls, *components)

    @classmethod
    def _section(cls) -> type[UnionSection]:
        return cls.union or cls

    def options(self, choice: str) -> dict[str, Any]:
        """The options of the component that the field `choice` selects."""
        component = self.choices[choice][getattr(self, choice)]
        return {field: getattr(self, field) for field in options_of(component).model_fields}

    def component(self, choice: str) -> Any:
        """The same as an instance of the component's own class of options."""
        return options_class(self.choices[choice][getattr(self, choice)])(**self.options(choice))

    chosen: ClassVar[Any] = component  # its name in version 0.3

    @classmethod
    def all_fields(cls) -> dict[str, str | None]:
        """Also those of the union's other members."""
        fields: dict[str, str | None] = {}
        for field in cls._section().model_fields:
            fields[field] = None
            if registry := cls.choices.get(field):
                fields |= dict.fromkeys(registry.option_users(), field)
        return fields

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, Unused | None]:
        unused = super().unused(values)
        for choice, registry in cls.choices.items():
            name = values.get(choice, cls.model_fields[choice].default)
            is_known = isinstance(name, str) and name in registry
            for option, users in registry.option_users().items():
                if option not in cls.model_fields:
                    why = Unused(f"{choice}: {name}", f"{choice} to {alternatives(users)}")
                    unused[option] = why if is_known else None
        return unused

    @model_validator(mode="before")
    @classmethod
    def _null_is_no_option(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        options = cls.model_fields.keys() - cls._section().model_fields.keys()
        return {field: value for field, value in values.items() if not (value is None and field in options)}

    @model_validator(mode="after")
    def _components_take_their_options(self) -> Self:
        for choice in self.choices:
            self.component(choice)
        return self

    @model_serializer(mode="wrap")
    def _write_used_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = super()._write_used_fields(write)
        return {field: written[field] for field in self.all_fields() if field in written}


@cache
def _make_member(section: Any, *components: Any) -> Any:
    fields: dict[str, Any] = {"union": (ClassVar[Any], section)}
    for component in components:
        for name, info in options_of(component).model_fields.items():
            if name in fields or name in section.model_fields:
                raise TypeError(f"{component.__qualname__}: its option {name} is a field of {section.__name__} already")
            fields[name] = annotation_of(info), info.default
    return create_model(section.__name__, __base__=section, __module__=section.__module__, **fields)
