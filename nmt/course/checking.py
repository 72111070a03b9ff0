"""Exercises, and what tells right from wrong: a student's function is compared with a NumPy function."""

from __future__ import annotations

import hashlib
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch

from nmt.system import bundled
from nmt.system.errors import UserError

FOLDER = bundled.ROOT / "docs" / "course"
SEEDS = range(3)  # of the arguments that a function is tried with; hidden tests take others
# Whether lessons train for seconds, and translate badly: to test them, and where Otter-Grader has started them.
quick = os.environ.get("NMT_COURSE_QUICK") == "1" or "otter" in sys.modules


@dataclass(frozen=True)
class Exercise:
    """A function to write. Each known mistake is a NumPy function, too, by the hint that it gets.

    `arguments` makes what the functions take: NumPy arrays, which a student's function gets as tensors, and anything
    else. They return an array, a number, a text, or a list or tuple of such.
    """

    name: str
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    reference: Callable[..., Any]
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def judge(self, number: str, value: Any) -> str:
        """What is wrong with a student's function; nothing if it is right."""
        problem, suspects = "", dict(self.mistakes)
        for seed in SEEDS:
            try:
                actual = value(*map(_as_tensor, self._arguments(seed)))
            except (Exception, SystemExit) as error:
                text = " ".join(f"{type(error).__name__}: {error}".split())
                return _EMPTY if "ellipsis" in text else f"{self.name}(...) raises {text[:300]}"
            if actual is ... or actual is None:
                return _EMPTY
            problem = problem or difference(actual, self.reference(*self._arguments(seed)), f"{self.name}(...)")
            for hint, mistake in list(suspects.items()):
                if difference(actual, mistake(*self._arguments(seed))):
                    del suspects[hint]
        return problem and "\n".join([problem, *(f"Hint: {hint}" for hint in list(suspects)[:1])])

    def _arguments(self, seed: int) -> tuple[Any, ...]:
        return self.arguments(np.random.default_rng(seed))  # new each time: a function may change what it gets


@dataclass(frozen=True)
class Answer:
    """A letter or a number to find. `digest` is `digest_of` the right one; `hints` are for wrong ones."""

    name: str
    digest: str
    hints: Mapping[str, str] = field(default_factory=dict)

    def judge(self, number: str, value: Any) -> str:
        """What is wrong with a student's answer; nothing if it is right."""
        text = str(value.item() if hasattr(value, "item") else value).strip()[:100]
        if digest_of(number, text) == self.digest:
            return ""
        hint = self.hints.get(text.lower())
        return f"{self.name} is {text!r}" + (f"\nHint: {hint}" if hint else "")


_EMPTY = "it is not filled in yet"


def digest_of(number: str, answer: object) -> str:
    """What stands for an answer where students may look."""
    return hashlib.sha256(f"{number} {answer}".lower().encode(errors="replace")).hexdigest()[:16]


@cache
def exercises(lesson: str) -> dict[str, Exercise | Answer]:
    """The exercises of a lesson by their numbers. Raises `UserError` if there is no such lesson."""
    lessons = sorted(path.stem.removeprefix("lesson_") for path in FOLDER.glob("exercises/lesson_*.py"))
    if lesson not in lessons:
        raise UserError(f"there is no lesson {lesson}: the lessons are {', '.join(lessons)}")
    return runpy.run_path(str(FOLDER / "exercises" / f"lesson_{lesson}.py"))["EXERCISES"]


def judge(number: str, value: Any) -> tuple[bool, str]:
    """Whether an exercise is right, and a line or two that say so. Raises `UserError` if there is no such exercise."""
    lesson = exercises(number.partition(".")[0])
    if number not in lesson:
        raise UserError(f"there is no exercise {number}: the lesson has {', '.join(lesson)}")
    try:
        with np.errstate(all="ignore"):
            problem = _EMPTY if value is ... or value is None else lesson[number].judge(number, value)
    except (Exception, SystemExit) as error:
        problem = f"it cannot be compared ({type(error).__name__})"
    return not problem, f"{number} wrong: {problem}" if problem else f"{number} right"


def check(number: str, value: Any = ...) -> None:
    """Print whether an exercise is right, or else its first wrong value and a hint. Raises nothing."""
    try:
        print(judge(str(number), value)[1])
    except Exception as error:
        print(error if isinstance(error, UserError) else f"check: the number raises {type(error).__name__}")


def difference(actual: Any, expected: Any, name: str = "") -> str:
    """The first difference between two results, such as "f(...)[0, 3] is 0.117, should be 0.352"; nothing if none."""
    if isinstance(expected, str):
        return (
            ""
            if isinstance(actual, str) and actual == expected
            else f"{name} is {str(actual)[:80]!r}, should be {expected!r}"
        )
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple | torch.Tensor | np.ndarray):
            return f"{name} is a {type(actual).__name__}, should be a {type(expected).__name__}"
        if len(actual) != len(expected):
            return f"{name} has {len(actual)} elements, should have {len(expected)}"
        pairs = enumerate(zip(actual, expected, strict=True))
        return next(filter(None, (difference(*pair, f"{name}[{i}]") for i, pair in pairs)), "")
    right = np.asarray(expected)
    try:
        array = actual.detach().cpu().double().numpy() if isinstance(actual, torch.Tensor) else np.asarray(actual)
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        return f"{name} is a {type(actual).__name__}, should be {'an array' if right.ndim else 'a number'}"
    if array.shape != right.shape:
        return f"{name} has shape {array.shape}, should have {right.shape}"
    wrong = np.argwhere(~np.isclose(array, right.astype(np.float64), rtol=1e-4, atol=1e-6, equal_nan=True))
    if not len(wrong):
        return ""
    place = tuple(wrong[0].tolist())
    numbers = float(array[place]), float(right[place])
    shown = next(s for d in range(3, 18) if len(set(s := [f"{x:.{d}g}" for x in numbers])) == 2)
    return f"{name}{list(place) or ''} is {shown[0]}, should be {shown[1]}"


def _as_tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
