"""A few of each family of odd inputs; `python -m support.walk` takes a million (docs/explanation/reliability.md)."""

import json
import os
import signal
import time
from pathlib import Path
from random import Random

import pytest
from support.walk import runner
from support.walk.families import FAMILIES
from support.walk.family import Family

pytestmark = pytest.mark.long


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_whatever_comes_in_there_is_a_result_or_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: Family
) -> None:
    monkeypatch.chdir(tmp_path)
    attempt, systematic = family.begin(tmp_path)
    chance = Random(1)
    for number in range(family.few):
        is_systematic = systematic and (number % 4 or not family.by_chance)
        place = chance.randrange(systematic) if is_systematic else systematic + number
        attempt(place, Random(f"1 {family.name} {place}"))


def test_a_crash_a_hang_and_a_traceback_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HANG", 0.3)
    monkeypatch.setattr(runner, "WAIT", 1.0)

    def attempt(number: int, _: Random) -> bool:
        while number == 1:
            pass
        if number == 3:
            time.sleep(60)
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 6:
            raise ValueError("a bug")
        return number == 7

    family = Family("bad", "inputs that are all bad", 1, lambda _: (attempt, 0), 1)
    counts = runner.walk(family, 0, 9, 1, tmp_path, tmp_path / "failures.jsonl")
    assert (counts.inputs, counts.refused, counts.failures) == (9, 1, 4)
    lines = (tmp_path / "failures.jsonl").read_text(encoding="utf-8").splitlines()
    failures = {failure["number"]: failure["what"] for failure in map(json.loads, lines)}
    assert failures.keys() == {1, 3, 5, 6}
    assert failures[5] == "the process ended with exit code -9"
    assert failures[6].endswith("ValueError: a bug\n")
