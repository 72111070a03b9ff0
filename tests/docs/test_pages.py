"""What pages name exists, and what the reference takes from the code is up to date."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from generated_parts import PART, written

import nmt

ROOT = Path(__file__).parents[2]
# Outside `docs/`, whose links the documentation's build checks.
PAGES = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")]
PAGES += [page for folder in ("checkpoints", "data/sample") for page in (ROOT / folder).glob("**/README.md")]
GENERATED = {name: {name} for name in ("command-line", "config")}
GENERATED |= {"attention": {"scores", "scopes", "normalizers", "exclusions", "cells"}}
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_all_files_name_this_version_and_the_same_pythons() -> None:
    versions = re.findall(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == nmt.__version__ == yaml.safe_load(read("CITATION.cff"))["version"]
    assert versions == sorted(set(versions), reverse=True)
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    pythons = [name.rsplit(" ", 1)[1] for name in classifiers if re.search(r"Python :: 3\.\d+$", name)]
    job = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]["check"]
    assert job["strategy"]["matrix"]["python"] == pythons
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts and Sphinx make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page: Path) -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= {page.name for page in PAGES}
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in (link for link in LINK.findall(text) if "://" not in link):
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert path.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(path), link


def test_the_tutorial_is_kept_with_its_outputs() -> None:
    text = read("docs/tutorial.ipynb")
    for cell in (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"):
        defines = isinstance(ast.parse("".join(cell["source"])).body[-1], ast.FunctionDef)
        assert bool(cell["outputs"]) != defines, cell["source"]
        assert {output.get("name", "stdout") for output in cell["outputs"]} <= {"stdout"}, "warnings"
    assert len(text) < 1_500_000


def functions_in(path: Path) -> set[str]:
    """The names of a module's functions; none if it does not exist."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_every_mistake_names_tests_that_exist() -> None:
    """A mistake is a paragraph that begins in bold; the list behind it names the tests."""
    page = read("docs/explanation/mistakes.md")
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(tests) > 30
    assert [f"{path}::{name}" for path, name in tests if name not in functions_in(ROOT / path)] == []
    mistakes = re.split(r"^(?=\*\*)", page, flags=re.MULTILINE)[1:]
    assert len(mistakes) > 15
    assert [mistake.splitlines()[0] for mistake in mistakes if "- `tests/" not in mistake] == []


@pytest.mark.parametrize("name", GENERATED)
def test_generated_parts_are_up_to_date(name: str) -> None:
    page = read(f"docs/reference/{name}.md")
    assert {part["name"] for part in PART.finditer(page)} == GENERATED[name]
    assert written(page) == page, "run make reference"
    changed = PART.sub(lambda part: part[0].replace("\n\n", "\n\nold\n\n", 1), page)
    assert written(changed) == page != changed
