"""A few of each family of odd inputs; `python -m support.walk` takes a million (docs/explanation/reliability.md)."""

from pathlib import Path
from random import Random

import pytest
from support.walk.families import FAMILIES
from support.walk.family import Family


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_whatever_comes_in_there_is_a_result_or_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: Family
) -> None:
    monkeypatch.chdir(tmp_path)
    attempt, systematic = family.begin(tmp_path)
    chance = Random(1)
    for number in range(family.few):
        place = (
            chance.randrange(systematic) if systematic and (number % 4 or not family.by_chance) else systematic + number
        )
        attempt(place, Random(f"1 {family.name} {place}"))
