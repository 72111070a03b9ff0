"""What the sections of the configuration have in common: frozen, closed, and filled with defaults by choice."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]  # a product of two such sizes fits into 64 bits
Probability = Annotated[float, Field(ge=0, le=1)]
DropoutRate = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Precision = Literal["float32", "bf16"]  # bf16: matrix products take bfloat16 factors, and sum them in float32
SearchPrecision = Literal[Precision, "int8"]  # int8: the decoder's products take whole numbers to ±127
Threads = Annotated[int, Field(ge=1, le=1024, strict=True)]


class Section(BaseModel):
    """A part of the configuration: immutable, and closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _no_nul(cls, value: object) -> object:
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str) and "\0" in part:
                raise ValueError("holds a NUL character, which no path or name can; remove it")
        return value


def filled(values: Any, choice: str, field: str, defaults: dict[str, int | float]) -> Any:
    """The values with `field`, where it is not set, at the default that belongs to what `choice` says."""
    if isinstance(values, dict) and values.get(field) is None:
        chosen = values.get(choice)
        if isinstance(chosen, str) and chosen in defaults:
            return {**values, field: defaults[chosen]}
    return values


def spelled(value: object) -> str:
    """As YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
