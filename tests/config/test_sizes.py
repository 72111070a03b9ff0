"""Files and functions that can be read in one go."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for folder in ("nmt", "tests", "benchmarks", "scripts", "docs") for path in (ROOT / folder).rglob("*.py")
)
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 300, 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES_OF_A_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= LINES_OF_A_FUNCTION, f"{node.name}, line {node.lineno}: {length} lines"
