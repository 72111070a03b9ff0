"""The section of an add-on, as the core knows it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationInfo, model_validator

from nmt.registry import Section


class AddOnSection(Section):
    """The settings of an add-on, which is not installed."""

    def check(self, data: Any) -> None:
        """Raise ValueError for values that do not fit the other fields of the section that it is in."""

    @model_validator(mode="before")
    @classmethod
    def _needs_the_addon(cls, values: Any, info: ValidationInfo) -> Any:
        """A checkpoint's config, which comes with a list as context, may have been written with the add-on."""
        if cls is not AddOnSection or not isinstance(values, dict):
            return values
        if not isinstance(info.context, list) and any(value is not None for value in values.values()):
            raise ValueError("augment belongs to the add-on nmt.augment, which is not installed")
        return {}
