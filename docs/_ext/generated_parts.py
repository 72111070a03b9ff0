"""Parts of the reference that are made from the code. `make reference` writes them into the pages:

    python docs/_ext/generated_parts.py docs/reference/*.md

They lie in the repository, so that its pages are whole wherever they are read; a test tells when they are out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import attention_table
import command_line
import config_reference

PARTS: dict[str, Callable[[], str]] = {
    "command-line": command_line.markdown,
    "config": config_reference.markdown,
    "scores": attention_table.scores,
    "scopes": attention_table.scopes,
    "normalizers": attention_table.normalizers,
    "exclusions": attention_table.exclusions,
    "cells": attention_table.cells,
}
PART = re.compile(r"^(<!-- begin (?P<name>[a-z-]+), .+ -->\n).*?^(<!-- end (?P=name) -->)$", re.M | re.S)


def written(text: str) -> str:
    """A page's Markdown with its generated parts as they are made today."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part['name']]().strip()}\n\n{part[3]}", text)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
