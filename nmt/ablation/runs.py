"""All runs of the comparison: which configs go together, and their processes, several at once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nmt.ablation import result
from nmt.config.reading import differences, load_config, to_yaml
from nmt.config.run import Config
from nmt.system import files
from nmt.system.bundled import ablation_configs, find_config
from nmt.system.errors import UserError
from nmt.training.interruption import StopSignals

DEFAULT_CONFIGS = Path("configs/ablation")
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Failure:
    """A run that did not come to its end, and why. `is_defect`: the program's fault, or the machine's."""

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


def load_configs(paths: Sequence[str], overrides: Sequence[str]) -> list[Config]:
    """The configs to compare, with `a.b=VALUE` overrides applied to each.

    Without paths these are all in configs/ablation of the current folder, or else the bundled ones.

    Raises `UserError` unless they differ in name and `model.attention` alone, or if a run's folder holds another run.
    """
    chosen = list(paths) or sorted(map(str, DEFAULT_CONFIGS.glob("*.yaml"))) or list(map(str, ablation_configs()))
    configs = {path: load_config(find_config(path), overrides) for path in chosen}
    (first, first_config), *others = configs.items()
    folders = {result.folder_of(first_config): first}
    for path, config in others:
        for field in differences(_common(first_config), _common(config)):
            raise UserError(
                f"{first} and {path} differ in {field}, so that more than attention would be compared; set them alike"
            )
        folder = result.folder_of(config)
        if folder in folders:
            raise UserError(f"{folders[folder]} and {path} would both run in {folder}; give each another name")
        folders[folder] = path
    if len(chosen) > len(configs):
        raise UserError("a config was given twice: name each once")
    for config in configs.values():
        _check_folder(config)
    return list(configs.values())


def run_all(configs: Sequence[Config], jobs: int, stop: StopSignals) -> list[Failure]:
    """Train and measure every config that has no result yet, `jobs` at once; returns what failed.

    A stop is handed on to the runs, which save; a second one ends them at once.
    """
    waiting = [config for config in configs if not result.path_of(config).exists()]
    done = len(configs) - len(waiting)
    if done:
        _say(f"{done} of {len(configs)} are done already")
    running: list[Child] = []
    failures: list[Failure] = []
    told = False
    try:
        while running or (waiting and not stop.requested):
            while waiting and len(running) < jobs and not stop.requested:
                config = waiting.pop(0)
                try:
                    running.append(_start(config))
                except UserError as error:
                    failures.append(_report(Failure(config.name, str(error), is_defect=False)))
            if stop.requested and not told:
                told = True
                for child in running:
                    child.process.terminate()
            time.sleep(POLL_SECONDS)
            for child in [child for child in running if child.process.poll() is not None]:
                running.remove(child)
                failure = _ended(child, stopped=stop.requested)
                if failure is not None:
                    failures.append(_report(failure))
    finally:
        for child in running:
            child.process.kill()
            child.process.wait()
    return failures


def _start(config: Config) -> Child:
    folder = result.folder_of(config)
    path = folder / "log.txt"
    # The child inherits the lock, and holds it until it ends, even if we are killed.
    with files.locked(path, f"{folder} is being trained by another process; wait for it, or stop it") as log:
        # A session of its own: Ctrl-C reaches us alone, and each run is told once.
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-u", "-m", "nmt.ablation.child"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:  # if it has ended already, its exit code says so
        process.stdin.write(to_yaml(config).encode())
    _say(f"{config.name}: started; log: {path}")
    return Child(config, process, path, time.monotonic())


def _ended(child: Child, *, stopped: bool) -> Failure | None:
    """Say what became of a run that has ended; if it failed, return that."""
    name, code = child.config.name, child.process.returncode
    minutes = (time.monotonic() - child.started) / 60
    if code == 0:
        measured = result.read(result.path_of(child.config))
        _say(f"{name}: done in {minutes:.1f} minutes, BLEU {measured.bleu:.2f}")
        return None
    if stopped and (code == 130 or code < 0):
        _say(f"{name}: stopped after {minutes:.1f} minutes")
        return None
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    lines = child.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    return Failure(name, f"{how} after {minutes:.1f} minutes; log: {child.log}; it ends: {last}", is_defect=code != 2)


def _report(failure: Failure) -> Failure:
    print(f"{failure.name}: failed: {failure.reason}", file=sys.stderr, flush=True)
    return failure


def _common(config: Config) -> dict[str, object]:
    """What all runs of a comparison share."""
    return config.model_dump(exclude={"name": True, "model": {"attention"}})


def _check_folder(config: Config) -> None:
    """Raise `UserError` if the run's folder holds a run, done or begun, of another config."""
    folder, path = result.folder_of(config), result.path_of(config)
    if path.exists():
        before = result.read(path).config
    elif (folder / "config.yaml").exists():
        before = load_config(folder / "config.yaml")
    else:
        return
    for field in differences(before.model_dump(), config.model_dump()):
        raise UserError(
            f"{folder} holds a run with another {field}; delete that folder, or choose another place by "
            "--set output_dir=FOLDER"
        )


def _say(line: str) -> None:
    print(line, flush=True)
