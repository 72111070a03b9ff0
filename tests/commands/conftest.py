"""The text that several tests of `nmt translate` translate."""

from pathlib import Path

import pytest
from support.cli import SOURCES

from nmt.commands import sentences


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of 11 lines, one of them empty, which is translated in blocks of two."""
    monkeypatch.setattr(sentences, "BLOCK", 2)
    file = tmp_path / "input.txt"
    file.write_text("\n".join([*SOURCES, "", *SOURCES[::-1]]), encoding="utf-8")
    return file
