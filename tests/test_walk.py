"""A few of each family of odd inputs: whatever comes in, there is a result or one clear line.

A long walk takes about an hour, and prints how many inputs of each family were tried and refused
(docs/explanation/reliability.md): `NMT_WALK=1000000 python -m pytest -n auto -rP tests/test_walk.py`
"""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.walk import checkpoints, configs, texts
from support.walk.family import Try

pytestmark = pytest.mark.long
INPUTS = int(os.environ.get("NMT_WALK", "0"))
WAIT = 60  # seconds that one input may take on a busy machine
MEMORY = 6 << 30  # bytes that the process may allocate
# Of each family: the share of a long walk's inputs that are left to chance, and how many of them the suite tries.
FAMILIES = [
    (configs.begin_fields, 0, 25),
    (configs.begin_settings, 0.25, 150),
    (configs.begin_yaml, 0.19, 150),
    (configs.begin_options, 0.003, 40),
    (checkpoints.begin_loaded, 0.003, 80),
    (checkpoints.begin_resumed, 0, 10),
    (checkpoints.begin_checksummed, 0.04, 60),
    (checkpoints.begin_subwords, 0.01, 40),
    (texts.begin_lines, 0.3 / texts.LINES, 4),
    (texts.begin_corpora, 0.2, 60),
]


@pytest.mark.parametrize(("begin", "share", "few"), FAMILIES, ids=[begin.__name__ for begin, *_ in FAMILIES])
def test_whatever_comes_in_there_is_a_result_or_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Path], tuple[Try, int]], share: float, few: int
) -> None:
    """A crash, or an input that takes too long, ends the process, which pytest's workers report."""
    monkeypatch.chdir(tmp_path)
    attempt, systematic = begin(tmp_path)
    chance, refused = Random(1), 0
    numbers = list(range(systematic + round(share * INPUTS)))
    if not INPUTS:  # three of four are systematic, if there are such ones
        numbers = [systematic + n for n in range(few)]
        numbers = [chance.randrange(systematic) if systematic and (n % 4 or not share) else n for n in numbers]
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, before[1]))
    try:
        for number in numbers:
            signal.alarm(WAIT)
            refused += attempt(number, Random(f"1 {begin.__name__} {number}"))
    except BaseException as error:
        error.add_note(f"input {number} of the family")
        raise
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_DATA, before)
    print(f"{begin.__name__}: {len(numbers):,} inputs, {refused:,} refused")
