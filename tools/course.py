"""Make what students and lecturers get from the lessons in docs/course/lessons.

    python tools/course.py                    # docs/course/students: notebooks without solutions, which are kept in git
    python tools/course.py class build/class  # for each lesson, what Otter-Grader needs to grade a class

The lessons are jupytext's percent format, and masters of Otter Assign, which does the work.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from otter.assign import main as assign

ADDRESS = os.environ.get("NMT_ADDRESS", "nmt")  # what pip installs where a notebook finds no nmt: set it here alone
COURSE = Path(__file__).resolve().parents[1] / "docs" / "course"
INSTALLATION = f'''# With nmt installed, this cell does nothing. On Colab and Kaggle it installs nmt and copies files.
import importlib.util, subprocess, sys
if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "{ADDRESS}"], check=True)
    subprocess.run([sys.executable, "-m", "nmt", "course", "start", "."])'''
GRADING = f"""
name: {{name}}
files: [nano_nmt.py, data]
requirements: [{ADDRESS}]"""


def master(lesson: Path) -> nbformat.NotebookNode:
    """The notebook with solutions and hidden tests."""
    notebook = jupytext.read(lesson, fmt="py:percent")
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    config, *_ = (cell for cell in notebook.cells if cell.cell_type == "raw")
    config.source += GRADING.format(name=lesson.stem)
    (installation,) = (cell for cell in notebook.cells if "@NMT_ADDRESS@" in cell.source)
    installation.source = INSTALLATION
    return notebook


def make_class(lesson: Path, folder: Path) -> None:
    """Write `student` and `autograder` for a lesson, the latter with a zip file for `otter run` and `otter grade`."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        shutil.copy(COURSE / "nano_nmt.py", place)
        shutil.copytree(COURSE.parents[1] / "data" / "sample", place / "data")
        nbformat.write(master(lesson), place / f"{lesson.stem}.ipynb")
        assign(str(place / f"{lesson.stem}.ipynb"), str(folder.resolve()), no_run_tests=True)
    for path in folder.glob("*/*.ipynb"):
        tidy(path)


def tidy(path: Path) -> None:
    """Make a notebook the same whenever it is made, and drop the list of tests, which are all hidden."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.otter = {"assignment_name": notebook.metadata.otter.assignment_name}
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata.pop("lines_to_next_cell", None)  # jupytext's
    nbformat.write(notebook, path)


def make_students(folder: Path, lessons: list[Path]) -> None:
    """Write the notebooks without solutions."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for lesson in lessons:
            make_class(lesson, Path(temporary) / lesson.stem)
            shutil.copy(Path(temporary) / lesson.stem / "student" / f"{lesson.stem}.ipynb", folder)


def main(arguments: list[str]) -> None:
    lessons = sorted(COURSE.glob("lessons/lesson_*.py"))
    kind, folder = arguments or ("students", COURSE / "students")
    if kind == "class":
        for lesson in lessons:
            make_class(lesson, Path(folder) / lesson.stem)
    else:
        make_students(Path(folder), lessons)


if __name__ == "__main__":
    main(sys.argv[1:])
