"""What the course's notebooks import: `from nmt.course import check, quick`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("check", "quick"):
        return getattr(import_module("nmt.course.checking"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
