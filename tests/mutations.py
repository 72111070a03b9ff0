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
from collections.abc import Iterable
from pathlib import Path

from support.planted_errors import MUTATIONS, Mutation

ROOT = Path(__file__).parents[1]
COPIED = ("nmt", "tests", "configs", "data", "scripts", "tools", "benchmarks", "docs", "checkpoints", "pyproject.toml")
SECONDS = 600  # for the tests of one mutation, which may also never end


def main(words: list[str]) -> int:
    mutations = [m for m in MUTATIONS if not words or any(word in f"{m.file} {m.old}" for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder))
        outcome = run_tests(project, {test for m in mutations for test in m.tests}, len(mutations) * SECONDS)
        if outcome != "passed":
            print(f"Without any mutation: {outcome}")
            return 1
        print("| noticed | file | error | by |\n| --- | --- | --- | --- |", flush=True)
        noticed = [plant(project, mutation) for mutation in mutations]
    print(f"{sum(noticed)} of {len(mutations)} planted errors are noticed.")
    return int(not all(noticed))


def plant(project: Path, mutation: Mutation) -> bool:
    """Whether a test notices the error in a copy of the project; prints a line about it."""
    path = project / mutation.file
    original = path.read_text(encoding="utf-8") if path.exists() else ""
    if (count := original.count(mutation.old)) == 1:
        path.write_text(original.replace(mutation.old, mutation.new), encoding="utf-8")
        outcome = run_tests(project, mutation.tests, SECONDS)
        path.write_text(original, encoding="utf-8")
    else:
        outcome = f"its text is {count} times in the file"
    change = f"{mutation.old.strip()} → {mutation.new.strip()}".replace("\n", " ")
    print(f"| {'yes' if '::' in outcome else 'NO'} | {mutation.file} | {change} | {outcome} |", flush=True)
    return "::" in outcome


def run_tests(project: Path, tests: Iterable[str], seconds: float) -> str:
    """The first test that fails, "passed", or what else happened."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", *sorted(tests)]
    environment = os.environ | {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {seconds:g} s"
    failed = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode == 1 and failed:
        return failed[0].removeprefix("FAILED ")
    return "passed" if done.returncode == 0 else f"pytest exits with {done.returncode}: {done.stdout[-300:]}"


def copy_project(folder: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
