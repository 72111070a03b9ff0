"""Tries inputs in processes of their own: one that crashes natively, or never ends, is only one more failure."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import time
import traceback
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from support.walk.family import Family

HANG, WAIT = 10.0, 60.0  # seconds that one input may take: of a processor, and on the clock of a busy machine
SLOW = 3.0  # seconds, after which an input is noted, but no failure
MEMORY = 6 << 30  # bytes that a process may ask for
_POLL = 0.2  # seconds


class Counts(NamedTuple):
    """What came of some inputs."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    failures: int = 0
    peak: int = 0
    """Bytes of memory that a process took at most."""

    def plus(self, other: Counts) -> Counts:
        return Counts(
            self.inputs + other.inputs,
            self.refused + other.refused,
            max(self.slowest, other.slowest),
            self.failures + other.failures,
            max(self.peak, other.peak),
        )


class _Shared(NamedTuple):
    """What a worker says while it works."""

    number: Synchronized[int]
    tried: Synchronized[int]
    refused: Synchronized[int]
    slowest: Synchronized[float]
    peak: Synchronized[int]


def walk(family: Family, begin: int, end: int, seed: int, folder: Path, failures: Path) -> Counts:
    """Try the inputs numbered from `begin` to before `end`; each failure becomes a line of the file `failures`."""
    total = Counts()
    while begin < end:
        counts, begin = _one_worker(family, begin, end, seed, folder, failures)
        total = total.plus(counts)
    return total


def _one_worker(family: Family, begin: int, end: int, seed: int, folder: Path, failures: Path) -> tuple[Counts, int]:
    """Work until the end, or until a worker dies or hangs; returns the counts, and the number to go on with."""
    context = multiprocessing.get_context("fork")
    shared = _Shared(
        number=context.Value("q", begin - 1, lock=False),
        tried=context.Value("q", 0, lock=False),
        refused=context.Value("q", 0, lock=False),
        slowest=context.Value("d", 0.0, lock=False),
        peak=context.Value("q", 0, lock=False),
    )
    failed = _lines(failures)
    worker = context.Process(target=_work, args=(family, begin, end, seed, folder, failures, shared))
    worker.start()
    at, age, computed = begin - 1, 0.0, 0.0
    while worker.is_alive():
        started = time.monotonic()
        worker.join(_POLL)
        if shared.number.value != at:
            at, age, computed = shared.number.value, 0.0, _processor_seconds(worker.pid)
        age += min(time.monotonic() - started, 2 * _POLL)  # while this process was stopped, the worker was, too
        if at >= begin and (age > WAIT or _processor_seconds(worker.pid) - computed > HANG):
            worker.kill()
            worker.join()
            _report(failures, family, at, f"more than {HANG:.0f} s")
            break
    else:
        if worker.exitcode:
            _report(failures, family, shared.number.value, f"the process ended with exit code {worker.exitcode}")
    tried = shared.tried.value + (shared.number.value + 1 - begin > shared.tried.value)
    counts = Counts(
        tried * family.together,
        shared.refused.value,
        shared.slowest.value,
        _lines(failures) - failed,
        shared.peak.value,
    )
    if shared.number.value < begin:
        raise RuntimeError(f"{family.name} cannot begin; see {failures}")
    return counts, begin + tried


def _processor_seconds(process: int | None) -> float:
    """The processor time of a process so far; 0 where there is no /proc, or no process any more."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(family: Family, begin: int, end: int, seed: int, folder: Path, failures: Path, shared: _Shared) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with (folder / "output.log").open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(folder)
    vars(os)["fsync"] = lambda _: None  # nobody pulls the plug
    try:
        attempt, _ = family.begin(folder)
    except BaseException:
        _report(failures, family, -1, traceback.format_exc())
        raise
    for number in range(begin, end):
        shared.number.value = number
        started = time.process_time()
        try:
            shared.refused.value += attempt(number, Random(f"{seed} {family.name} {number}"))
        except BaseException:
            _report(failures, family, number, traceback.format_exc())
        seconds = time.process_time() - started  # the whole walk may have been paused
        shared.slowest.value = max(shared.slowest.value, seconds)
        if seconds > SLOW:
            _report(failures.with_name("slow.jsonl"), family, number, f"{seconds:.1f} s")
        shared.tried.value += 1
        if number % 256 == 0 or number == end - 1:
            shared.peak.value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _report(failures: Path, family: Family, number: int, what: str) -> None:
    with failures.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"family": family.name, "number": number, "what": what[-3000:]}) + "\n")


def _lines(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes().count(b"\n")
    return 0


def plan(families: list[Family], inputs: int, folder: Path) -> dict[str, int]:
    """How many numbers of each family make so many inputs: all systematic ones that fit, and chance for the rest."""
    systematic = {family.name: _systematic(family, folder) for family in families}
    left = inputs - sum(systematic.values())
    if left <= 0:  # a short walk: a part of everything
        return {family.name: max(1, int(inputs * family.share / family.together)) for family in families}
    shares = sum(family.share for family in families)
    return {
        family.name: systematic[family.name] + round(left * family.share / shares / family.together)
        for family in families
    }


def _systematic(family: Family, folder: Path) -> int:
    """How many systematic inputs a family has, found by a process of its own."""
    context = multiprocessing.get_context("fork")
    found = context.Value("q", -1, lock=False)

    def find() -> None:
        place = prepared(folder, family)
        os.chdir(place)
        found.value = family.begin(place)[1]

    process = context.Process(target=find)
    process.start()
    process.join()
    assert found.value >= 0, f"{family.name} cannot begin"
    return found.value


def prepared(folder: Path, family: Family) -> Path:
    place = folder / family.name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    return place


def remembered(state: Path) -> dict[str, Any]:
    with contextlib.suppress(FileNotFoundError):
        return json.loads(state.read_text(encoding="utf-8"))
    return {}
