"""The lessons: their solutions are right, each known mistake gets its own hint, and students get no solution."""

import json
import re
import runpy
import subprocess
import sys
from contextlib import suppress
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import torch
from support.cli import ROOT

from nmt.cli import main
from nmt.course.checking import Exercise, check, exercises, judge

COURSE = ROOT / "docs" / "course"
LESSONS = sorted(COURSE.glob("lessons/lesson_*.py"))
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
EDITS = {  # what a submission of lesson 2 has instead of a piece of the solution, and its points; None: no result
    "right": ("", "", 9),
    "softmax over the wrong axis": ("softmax(dim=1)", "softmax(dim=0)", 8),
    "mask forgotten": ("masked_fill(~mask, -math.inf).", "", 8),
    "query of the wrong step": ("return new_state, context", "return new_state, *attend(new_state)\n    #", 8),
    "syntax error": ("def best_links(weights):", "def best_links(weights:", 8),
    "exits": ("def best_links(weights):", "import os; os._exit(0)\ndef best_links(weights):", None),
    "endless": ("def best_links(weights):", "def best_links(weights):\n    while True: pass", None),
}
CHEATS = {"empty": "", "replaces check": "check = print", "prints": "print('2.1 right: test passed, 9 / 9')"}


def as_numpy(function):
    """A student's function that computes with NumPy."""

    def with_tensors(*arguments):
        arrays = [value.numpy() if isinstance(value, torch.Tensor) else value for value in arguments]
        result = function(*arrays)
        return torch.from_numpy(result) if isinstance(result, np.ndarray) else result

    return with_tensors


@each_lesson
@pytest.mark.filterwarnings("ignore")
def test_a_lesson_runs_with_its_solutions_and_hidden_tests_refuse_mistakes(lesson, tmp_path, monkeypatch) -> None:
    assert main(["course", "start", str(tmp_path)]) == 0
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("nmt.course.checking.quick", True)
    names = runpy.run_path(str(lesson))
    tests = [test for name, test in names.items() if name.startswith("test_q")]
    for number, exercise in exercises(lesson.stem[-1]).items():
        assert judge(number, names[exercise.name]) == (True, f"{number} right")
        (test,) = (test for test in tests if exercise.name in signature(test).parameters)
        test(names[exercise.name])
        wrong = map(as_numpy, exercise.mistakes.values()) if isinstance(exercise, Exercise) else exercise.hints
        for mistake in [*wrong, ...]:
            with pytest.raises(Exception):  # noqa: B017, PT011
                test(mistake)


@each_lesson
def test_each_mistake_gets_its_own_hint(lesson) -> None:
    for number, exercise in exercises(lesson.stem[-1]).items():
        if isinstance(exercise, Exercise):
            assert judge(number, as_numpy(exercise.reference))[0]
            assert len(exercise.mistakes) >= 3, number
            wrong = {hint: as_numpy(mistake) for hint, mistake in exercise.mistakes.items()}
        else:
            wrong = {hint: answer for answer, hint in exercise.hints.items()}
        for hint, value in wrong.items():
            right, text = judge(number, value)
            assert not right
            assert text.endswith(f"\nHint: {hint}"), text


def test_checks_raise_for_nothing_and_say_what_is_wrong(capsys) -> None:
    hostile = type("Hostile", (), dict.fromkeys(("__call__", "__array__", "__str__", "item"), sys.exit))()
    for value in (..., None, lambda *_: ..., lambda *_: ... + 1):
        assert judge("2.1", value) == (False, "2.1 wrong: it is not filled in yet")
    for value in (3, len, sys.exit, lambda *_: "x", lambda *_: torch.full([3, 5], torch.nan), hostile):
        check("2.1", value)
    check("2.2", hostile)
    check("2.99", 1)
    check("99.1", 1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["2.1"] * 6 + ["2.2", "there", "there"]
    assert "additive_scores(...)[0, 0] is nan, should be " in lines[4]
    assert lines[3].endswith("additive_scores(...) is a str, should be an array")


def test_a_file_is_checked_without_its_trainings(tmp_path, capsys) -> None:
    path = tmp_path / "mine.py"
    start, end = "def alignment_error_rate(a, s, p):\n    return 1 - (len(a & s) + ", ") / (len(a) + len(s))\n"
    path.write_text(f"import nosuch\nx = 1 / 0\n# %%\ndef (\n# %%\nanswer_2_2 = 0.5\n{start}len(a & p){end}", "utf-8")
    assert main(["course", "check", "2", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out.count(" right\n") == 3
    assert "2 of 9 right" in captured.out
    assert "cell 1, line 1: ModuleNotFoundError" in captured.err
    for arguments in (
        ["check", "2", str(tmp_path / "none.py")],
        ["check", "99"],
        ["check"],
        ["check", "2", __file__[:-1]],
    ):
        assert main(["course", *arguments]) == 2


def test_students_notebooks_are_up_to_date_and_have_no_solution(tmp_path) -> None:
    pytest.importorskip("otter")
    subprocess.run(
        [sys.executable, ROOT / "tools" / "course.py", "students", tmp_path], check=True, capture_output=True
    )
    for lesson in LESSONS:
        students = (tmp_path / f"{lesson.stem}.ipynb").read_text(encoding="utf-8")
        assert students == (COURSE / "students" / f"{lesson.stem}.ipynb").read_text("utf-8"), "python tools/course.py"
        source = "\n".join("".join(cell["source"]) for cell in json.loads(students)["cells"])
        text = lesson.read_text(encoding="utf-8")
        secrets = re.findall(r"^ *(.+?) +# SOLUTION$", text, re.M) + re.findall(r"^def test_\w+", text, re.M)
        secrets += re.findall(r"# # BEGIN SOLUTION\n\n# %% \[markdown\]\n# (.+)", text)
        assert len(secrets) > 10
        assert [secret for secret in secrets if secret in source] == []


@pytest.mark.long
def test_otter_grades_a_class(tmp_path) -> None:
    pytest.importorskip("otter")
    subprocess.run([sys.executable, ROOT / "tools" / "course.py", "class", tmp_path], check=True)
    (zip_file,) = tmp_path.glob("lesson_2/autograder/*.zip")
    solution, empty = (
        (tmp_path / "lesson_2" / kind / "lesson_2.ipynb").read_text("utf-8") for kind in ("autograder", "student")
    )
    submissions = {name: (solution.replace(*map(in_json, edit)), points) for name, (*edit, points) in EDITS.items()}
    start = "torch.manual_seed(2)"
    submissions |= {name: (empty.replace(start, in_json(f"{start}\n{line}")), 0) for name, line in CHEATS.items()}
    for name, (text, points) in submissions.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "lesson_2.ipynb").write_text(text, encoding="utf-8")
        assert grade(tmp_path / name, zip_file) == points, name


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def grade(folder: Path, zip_file: Path) -> float | None:
    """The points of a submission, by Otter's own command; None if it has no result, or runs for too long."""
    command = [sys.executable, "-m", "otter", "run", "-a", zip_file, "-o", folder, folder / "lesson_2.ipynb"]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(command, timeout=100 if folder.name == "endless" else 600, capture_output=True)
    if not (results := folder / "results.json").exists():
        return None
    return sum(test.get("score", 0) for test in json.loads(results.read_text(encoding="utf-8"))["tests"])
