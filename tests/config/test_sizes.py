"""Files and functions that can be read in one go."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 300, 50


def test_no_file_and_no_function_is_too_long() -> None:
    folders = ("nmt", "tests", "benchmarks", "docs")  # lessons are notebooks: text with some code
    for path in [x for folder in folders for x in (ROOT / folder).rglob("*.py") if "lessons" not in x.parts]:
        text = path.read_text(encoding="utf-8")
        if "exercises" not in path.parts:  # a lesson's list of small functions, right and wrong
            assert text.count("\n") <= LINES_OF_A_FILE, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= LINES_OF_A_FUNCTION, f"{path}: {node.name} has {length} lines"
