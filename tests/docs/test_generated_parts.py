"""The parts of the reference that are made from the code are today's, in the pages that the repository holds."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"attention": {"scores", "scopes"}, "command-line": {"command-line"}, "config": {"config"}}


@pytest.mark.parametrize("name", PAGES)
def test_generated_parts_are_up_to_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from generated_parts import PART, written

    page = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert {part["name"] for part in PART.finditer(page)} == PAGES[name]
    assert written(page) == page, "run make reference"


def test_what_is_between_the_marks_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import generated_parts

    monkeypatch.setitem(generated_parts.PARTS, "scopes", lambda: "| today's |")
    begin, end = "<!-- begin scopes, written by make reference -->", "<!-- end scopes -->"
    before = f"# A\n\n{begin}\n\n| old |\n\n{end}\n\nB\n"
    assert generated_parts.written(before) == before.replace("old", "today's")
