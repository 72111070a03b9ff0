"""The types of options that scores and scopes declare. They carry their bounds for whoever reads a config."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple


@dataclass(frozen=True)
class NoOptions:
    """The options of a component that has none."""


class Bounds(NamedTuple):
    """Bounds of an integer, which pydantic asks for by the name of this method."""

    low: int
    high: int = 1_000_000_000  # a product of two such sizes fits into 64 bits

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(source) | {"ge": self.low, "le": self.high, "strict": self.low > 0}


Count = Annotated[int, Bounds(1)]
StepCount = Annotated[int, Bounds(0)]
