"""nmt course: the lessons of docs/course, and whether their exercises are right."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from nmt.commands.options import Parser
from nmt.system import bundled, files
from nmt.system.errors import UserError

FOLDER = Path("course")  # where the lessons are copied to
RUN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def parser() -> Parser:
    parser = Parser(
        prog="nmt course",
        description="A course on attention: 7 notebooks with exercises. start [FOLDER] copies them, nano_nmt.py and "
        "the sample corpus, and overwrites nothing. check N [FILE] checks the exercises of lesson N in your "
        "notebook or .py file, without trainings; exit code 1: something is wrong or missing. break N [FOLDER] "
        "writes nano_nmt.py with mistake N of 15, and its symptoms; check broken_N.py checks whether it is fixed.",
    )
    parser.add_argument("action", choices=("start", "check", "break"), help="what to do")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="a number, a file, or a folder")
    return parser


def run(options: argparse.Namespace) -> int:
    """Do what `options.action` names. Raises `UserError` if a file cannot be read or written."""
    from nmt.course.mistakes import check_mend, write_broken

    if options.action == "start" and len(options.arguments) <= 1:
        return start(Path(*options.arguments or [FOLDER]))
    if options.action == "break" and 1 <= len(options.arguments) <= 2:
        return write_broken(options.arguments[0], Path(*options.arguments[1:]))
    if options.action == "check" and len(options.arguments) == 1 and options.arguments[0].endswith(".py"):
        return check_mend(Path(options.arguments[0]))
    if options.action == "check" and 1 <= len(options.arguments) <= 2:
        return check(*options.arguments)
    raise UserError("write nmt course start [FOLDER], check N [FILE], break N [FOLDER], or check broken_N.py")


def start(folder: Path) -> int:
    """Copy what a student needs. What exists is kept; raises `UserError` if all of it exists."""
    course = bundled.ROOT / "docs" / "course"
    sources = {path.name: path for path in sorted([*course.glob("students/*.ipynb"), *course.glob("nano_*.py")])}
    sources |= {f"data/{path.name}": path for path in sorted(bundled.SAMPLE.glob("*.*"))}
    present = [name for name in sources if os.path.lexists(folder / name)]
    if len(present) == len(sources):
        raise UserError(f"{folder} has all files of the course: remove those that you want anew, or name a new folder")
    for name in sources.keys() - present:
        files.write(folder / name, sources[name].read_bytes())
    if present:
        print(f"Kept as they are: {', '.join(present)}")
    first = folder / "lesson_1.ipynb"
    print(f"Written: {folder}, with the lessons as notebooks, nano_nmt.py and data/.")
    print(f"Next: jupyter lab {first}   (without Jupyter: pip install jupyterlab, or open it in an editor)")
    print(f"Then: nmt course check 1 {'' if folder == FOLDER else first}".rstrip())
    return 0


def check(lesson: str, file: str = "") -> int:
    """Print for each exercise of a lesson whether it is right in a file. Returns 1 if one is not."""
    from nmt.course.checking import exercises, judge

    name = f"lesson_{lesson}.ipynb"
    path = Path(file) if file else next(filter(Path.exists, (Path(name), FOLDER / name)), FOLDER / name)
    numbers, module = exercises(lesson), ModuleType("lesson")
    sys.modules["lesson"] = module  # where a dataclass looks
    sys.path.insert(0, str(path.resolve().parent))
    for place, text in _cells(path):
        _define(module, text, f"{path}, {place}")
    results = [judge(number, getattr(module, exercise.name, ...)) for number, exercise in numbers.items()]
    right = sum(good for good, _ in results)
    print(*(text for _, text in results), f"{right} of {len(results)} right", sep="\n")
    return int(right < len(results))


def _cells(path: Path) -> Iterator[tuple[str, str]]:
    """The code cells of a notebook, or of a .py file in cells that begin with "# %%", and where each is."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".py":
            cells = re.split(r"(?m)^# %%.*", text)
        else:
            cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: name your notebook or .py file: nmt course check N FILE") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path} is neither a notebook (.ipynb) nor a .py file in UTF-8: save it anew") from None
    for number, cell in enumerate(cells, start=1):
        yield f"cell {number}", "\n".join("" if line.startswith(("%", "!")) else line for line in cell.split("\n"))


def _define(module: ModuleType, text: str, place: str) -> None:
    """Run the imports, definitions and assignments of literals in a cell. Print what fails, and go on."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        print(f"{place}: {error}", file=sys.stderr)
        statements = []
    for statement in statements:
        try:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                ast.literal_eval(statement.value or ast.Constant(None))
            elif not isinstance(statement, RUN):
                continue
        except (ValueError, TypeError, RecursionError):
            continue  # an expression
        try:
            exec(compile(ast.Module([statement], []), place, "exec"), module.__dict__)
        except (Exception, SystemExit) as error:
            print(f"{place}, line {statement.lineno}: {type(error).__name__}: {error}", file=sys.stderr)
