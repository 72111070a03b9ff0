"""Configs as they are read from a file."""

from pathlib import Path
from typing import Any

import pytest

from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.system.errors import UserError


def value_at(config: Config, field: str) -> Any:
    value: Any = config
    for part in field.split("."):
        value = getattr(value, part)
    return value


def read(tmp_path: Path, text: str, *overrides: str) -> Config:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, overrides)


def refusal(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, *overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)
