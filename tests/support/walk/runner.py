"""Tries inputs in processes of their own: one that crashes natively, or never ends, is only one more failure."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import MutableSequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.walk.family import Family

HANG, WAIT = 10.0, 60.0  # seconds that one input may take: of a CPU, and on the clock of a busy machine
MEMORY = 6 << 30  # bytes that a process may allocate
ENDS = {-signal.SIGPROF: "more than HANG seconds of CPU time", -signal.SIGALRM: "more than WAIT seconds"}


class Counts(NamedTuple):
    """The outcome of some inputs."""

    inputs: int = 0
    refused: int = 0
    failures: int = 0
    slowest: float = 0.0  # seconds of CPU time
    peak: int = 0  # bytes of a process at most

    def row(self, name: str) -> str:
        """A line of a Markdown table."""
        inputs, refused, failures, slowest, peak = self
        return f"| {name} | {inputs:,} | {refused:,} | {slowest:.1f} | {peak >> 20} | {failures} |"

    def plus(self, other: Counts) -> Counts:
        sums = (self.inputs + other.inputs, self.refused + other.refused, self.failures + other.failures)
        return Counts(*sums, max(self.slowest, other.slowest), max(self.peak, other.peak))


def walk(family: Family, begin: int, end: int, seed: int, folder: Path, failures: Path) -> Counts:
    """Try the inputs numbered from `begin` to before `end`; each failure becomes a line of the file `failures`."""
    context, total = multiprocessing.get_context("fork"), Counts()
    while begin < end:
        progress = context.Array("d", [begin - 1, 0, 0, 0], lock=False)  # the input's number; refused; slowest; peak
        failed = _lines(failures)
        worker = context.Process(target=_work, args=(family, begin, end, seed, folder, failures, progress))
        worker.start()
        worker.join()
        number = int(progress[0])
        if number < begin:
            raise RuntimeError(f"{family.name} cannot begin; see {failures}")
        if code := worker.exitcode:
            _report(failures, family, number, ENDS.get(code, f"the process ended with exit code {code}"))
        inputs = (number + 1 - begin) * family.together
        counts = Counts(inputs, int(progress[1]), _lines(failures) - failed, progress[2], int(progress[3]))
        total, begin = total.plus(counts), number + 1
    return total


def _work(
    family: Family, begin: int, end: int, seed: int, folder: Path, failures: Path, progress: MutableSequence[float]
) -> None:
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
        progress[0] = number
        signal.setitimer(signal.ITIMER_PROF, HANG)  # a timer that is not set anew ends the process
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        started = time.process_time()
        try:
            progress[1] += attempt(number, Random(f"{seed} {family.name} {number}"))
        except BaseException:
            _report(failures, family, number, traceback.format_exc())
        progress[2] = max(progress[2], time.process_time() - started)
        progress[3] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _report(failures: Path, family: Family, number: int, what: str) -> None:
    with failures.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"family": family.name, "number": number, "what": what[-3000:]}) + "\n")


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
