"""Each mistake that docs/explanation/mistakes.md describes is excluded by tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "mistakes.md"


def functions_in(path):
    """The names of a module's functions; none if it does not exist."""
    if not path.exists():
        return set()
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())
    assert len(named) > 30
    missing = [f"{path}::{name}" for path, name in named if name not in functions_in(ROOT / path)]
    assert missing == []


def test_every_mistake_names_a_test():
    """A mistake is a paragraph that begins in bold; the list behind it names the tests."""
    mistakes = re.split(r"^(?=\*\*)", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(mistakes) > 15
    assert [mistake.splitlines()[0] for mistake in mistakes if "- `tests/" not in mistake] == []
