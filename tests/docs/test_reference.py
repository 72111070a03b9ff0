"""The parts of the reference that are made from the code are up to date and complete."""

import argparse
from pathlib import Path

import pytest

from nmt.cli import COMMANDS, module_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"attention": {"scores", "scopes"}, "command-line": {"command-line"}, "config": {"config"}}


@pytest.fixture(autouse=True)
def _extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


@pytest.mark.parametrize("name", PAGES)
def test_generated_parts_are_up_to_date(name: str) -> None:
    from generated_parts import PART, written

    page = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert {part["name"] for part in PART.finditer(page)} == PAGES[name]
    assert written(page) == page, "run make reference"
    changed = PART.sub(lambda part: part[0].replace("\n\n", "\n\nold\n\n", 1), page)
    assert written(changed) == page != changed


def test_every_option_is_named_with_its_help() -> None:
    import command_line

    reference = command_line.markdown()
    for name in COMMANDS:
        page = reference.partition(f"## nmt {name}\n")[2].partition("\n## ")[0]
        options = [option for action in module_of(name).parser()._actions for option in action.option_strings]
        assert page
        assert len(options) >= 2
        for option in set(options) - {"-h", "--help"}:
            assert f'<a id="nmt-{name}-{option.lstrip("-")}"></a>' in page
            assert f"`{option}`" in page or f"`{option} " in page
    parser = argparse.ArgumentParser(prog="nmt x", description="Does x.")
    parser.add_argument("--silent")
    with pytest.raises(ValueError, match="silent has no help"):
        command_line._argument("nmt x", parser._actions[-1])
