"""The runs of the comparison: a process for each, several at once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.lab import result
from nmt.system import files
from nmt.system.errors import UserError
from nmt.system.process_pool import child_environment
from nmt.training.folder import LOG
from nmt.training.interruption import StopSignals

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why. `is_defect`: because of a bug in nmt or of the machine, not of its input."""

    name: str
    reason: str
    is_defect: bool


@dataclass(frozen=True)
class Child:
    """A run in progress."""

    config: Config
    process: subprocess.Popen[bytes]
    log: Path
    started: float


def run_all(configs: Sequence[Config], jobs: int, stop: StopSignals) -> list[Failure]:
    """Train and measure every config that has no result yet, `jobs` at once; returns what failed.

    A stop signal is passed on to the runs, which save; a second one ends them at once.
    """
    waiting = [config for config in configs if not result.path_of(config).exists()]
    if done := len(configs) - len(waiting):
        print(f"{done} of {len(configs)} runs are finished, and skipped", flush=True)
    running, failures = list[Child](), list[Failure]()
    terminated, reported = False, 0
    try:
        while running or (waiting and not stop.requested):
            while waiting and len(running) < jobs and not stop.requested:
                config = waiting.pop(0)
                try:
                    running.append(_start(config))
                except UserError as error:
                    failures.append(Failure(config.name, str(error), is_defect=False))
            if stop.requested and not terminated:
                terminated = True
                for child in running:
                    child.process.terminate()
            time.sleep(POLL_SECONDS)
            for child in [child for child in running if child.process.poll() is not None]:
                running.remove(child)
                failures += _ended(child, stopped=stop.requested)
            for failure in failures[reported:]:
                print(f"{failure.name}: failed: {failure.reason}", file=sys.stderr, flush=True)
            reported = len(failures)
    finally:
        for child in running:
            child.process.kill()
            child.process.wait()
    return failures


def _start(config: Config) -> Child:
    folder = result.folder_of(config)
    path = folder / LOG
    # The child inherits the lock, and holds it until it ends, even if this process is killed.
    with files.locked(path, f"{folder} is in use by another process: wait for it, or stop it") as log:
        # In a session of its own, so that Ctrl-C reaches only this process, which stops each run once.
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-u", "-m", "nmt.lab.child"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=child_environment(),
            start_new_session=True,
        )
    assert process.stdin is not None
    # It stays open: the run reads there that this process lives, and saves and ends when it does not.
    with suppress(BrokenPipeError):  # if it has ended already, its exit code says so
        process.stdin.write(to_yaml(config).encode() + b"...\n")
        process.stdin.flush()
    print(f"{config.name}: started; log: {path}", flush=True)
    return Child(config, process, path, time.monotonic())


def _ended(child: Child, *, stopped: bool) -> list[Failure]:
    """Report how a run has ended; returns its failure, if it failed."""
    name, code = child.config.name, child.process.returncode
    assert child.process.stdin is not None
    with suppress(BrokenPipeError):
        child.process.stdin.close()
    minutes = (time.monotonic() - child.started) / 60
    if code == 0:
        measured = result.read(result.path_of(child.config))
        score = f"chrF {measured.chrf:.2f}" if measured.bleu is None else f"BLEU {measured.bleu:.2f}"
        print(f"{name}: done in {minutes:.1f} minutes, {score}", flush=True)
        return []
    if stopped and (code == 130 or code < 0):
        print(f"{name}: stopped after {minutes:.1f} minutes", flush=True)
        return []
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    lines = child.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    return [Failure(name, f"{how} after {minutes:.1f} minutes; log: {child.log}; it ends: {last}", is_defect=code != 2)]
