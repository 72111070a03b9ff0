"""docs/explanation/read-the-code.md leads through few files, which contain what it names."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "read-the-code.md"
SECTIONS = {"From a config to an update": (16, 2000), "From a sentence to its translation": (9, 1200)}


@pytest.mark.parametrize("section", SECTIONS)
def test_a_walk_is_short(section: str) -> None:
    files, lines = SECTIONS[section]
    text = PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    paths = [PAGE.parent / link for link in re.findall(r"^\| \[.*?\]\((.*?)\)", text, re.MULTILINE)]
    assert 5 < len(paths) <= files
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= lines


def test_what_the_walk_names_is_in_the_file() -> None:
    rows = re.findall(r"^\| \[.*?\]\((.*?)\) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for link, text in rows:
        code = (PAGE.parent / link).read_text(encoding="utf-8")
        for name in re.findall(r"`([A-Za-z_.]+)`", text):
            assert re.search(rf"\b{name.rpartition('.')[2]}\b", code), f"{link}: {name}"
