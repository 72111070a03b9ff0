"""Planted errors: each is put into a copy of the project, where some of the tests named with it must fail.

`make test-mutations` plants all of them, `python tests/mutations.py WORD…` those whose file or text contains a word.
Exits with 1 if an error stays unnoticed, if its text has changed in the code, or if its tests fail without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from support.mutation import Mutation
from support.planted_errors import MUTATIONS

ROOT = Path(__file__).parents[1]
COPIED = ("nmt", "tests", "configs", "data", "scripts", "tools", "benchmarks", "docs", "checkpoints", "pyproject.toml")
SECONDS = 600  # for the tests of one mutation, which may also never end


class Outcome(NamedTuple):
    mutation: Mutation
    noticed: bool
    detail: str


def main(words: list[str]) -> int:
    chosen = [m for m in MUTATIONS if not words or any(word in f"{m.file} {m.old}" for word in words)]
    workers = max(1, (os.cpu_count() or 2) // 2)
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            copies.put(copy_project(Path(folder) / str(number)))
        project = copies.get()
        if (
            detail := run_tests(project, {test for m in chosen for test in m.tests}, len(chosen) * SECONDS)
        ) != "passed":
            print(f"Without any mutation: {detail}")
            return 1
        copies.put(project)
        unnoticed = 0
        for outcome in in_parallel(chosen, copies, workers):
            unnoticed += not outcome.noticed
            change = f"{outcome.mutation.old.strip()} → {outcome.mutation.new.strip()}".replace("\n", " ")
            print(
                f"| {'yes' if outcome.noticed else 'NO'} | {outcome.mutation.file} | {change} | {outcome.detail} |",
                flush=True,
            )
    print(f"{len(chosen) - unnoticed} of {len(chosen)} planted errors are noticed.")
    return int(unnoticed > 0)


def in_parallel(mutations: Iterable[Mutation], copies: SimpleQueue[Path], workers: int) -> Iterator[Outcome]:
    def attempt(mutation: Mutation) -> Outcome:
        project = copies.get()
        try:
            return plant(project, mutation)
        finally:
            copies.put(project)

    print("| noticed | file | error | by |\n| --- | --- | --- | --- |", flush=True)
    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(attempt, mutations)


def plant(project: Path, mutation: Mutation) -> Outcome:
    path = project / mutation.file
    original = path.read_text(encoding="utf-8") if path.exists() else ""
    if original.count(mutation.old) != 1:
        return Outcome(mutation, False, f"its text is {original.count(mutation.old)} times in the file")
    path.write_text(original.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        detail = run_tests(project, mutation.tests, SECONDS)
    finally:
        path.write_text(original, encoding="utf-8")
    return Outcome(mutation, "::" in detail, detail)


def run_tests(project: Path, tests: Iterable[str], seconds: float) -> str:
    """The first test that fails, "passed", or what else happened."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", *sorted(tests)]
    try:
        done = subprocess.run(
            command,
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {seconds:g} s"
    if done.returncode == 0:
        return "passed"
    failed = [
        line.split(" - ")[0].removeprefix("FAILED ") for line in done.stdout.splitlines() if line.startswith("FAILED ")
    ]
    return (
        failed[0] if done.returncode == 1 and failed else f"pytest exits with {done.returncode}: {done.stdout[-300:]}"
    )


def copy_project(folder: Path) -> Path:
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        elif source.exists():
            shutil.copy(source, folder)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
