"""Other toolkits, timed beside nmt where they are installed. Not a benchmark itself, but shared by the benchmarks.

The folder `--peers` (or the environment variable PEERS) holds a toolkit's virtual environment `venv-NAME`; the folder
`--runners` a script `NAME.py` (or `NAME_.py`, where NAME.py would hide the toolkit from its own imports), called as

    venv-NAME/bin/python NAME.py train MODEL… UPDATES
    venv-NAME/bin/python NAME.py translate MODEL… BEAM

with PEERS and OMP_NUM_THREADS set. It trains or translates with the toolkit's own code and prints a line
`RESULT {json}`: after training with `trg_tok_per_s`, target tokens with a loss per second; after translating with
`sents_per_s` and `hyp_tok_per_s`, sentences and hypothesis tokens per second, end tokens included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nmt.config.model import AttentionConfig
from nmt.config.run import Config

T = TypeVar("T")

CONFIG = Path(__file__).with_name("peers.yaml")  # their sizes and data
ATTENTION = {
    "bahdanau": {"wiring": "bahdanau", "score": "additive"},
    "luong_feeding": {"wiring": "luong", "score": "general", "input_feeding": True},
    "luong": {"wiring": "luong", "score": "general", "input_feeding": False},
}

# A mechanism of nmt → the nearest one in a toolkit. OpenNMT-py and JoeyNMT attend after the recurrent step only;
# Marian's s2s between two of them, with an encoder of 512 a direction.
MODELS: dict[str, dict[str, tuple[str, ...]]] = {
    "bahdanau": {"opennmt": ("mlp", "1"), "joeynmt": ("bahdanau",), "marian": ("s2s",)},  # additive
    "luong_feeding": {"opennmt": ("general", "1"), "joeynmt": ("luong",)},
    "luong": {"opennmt": ("general", "0")},
}


def configured(config: Config, mechanism: str) -> Config:
    """The config of `CONFIG` with a mechanism's attention."""
    attention = AttentionConfig.model_validate(ATTENTION[mechanism])
    return config.model_copy(update={"model": config.model.model_copy(update={"attention": attention})})


@dataclass(frozen=True)
class Peer:
    """An installed toolkit: the folder of all peers, its Python, and the script that runs it."""

    name: str
    folder: Path
    python: Path
    runner: Path

    def run(self, *arguments: str | int, threads: int) -> dict[str, Any]:
        """The RESULT of one run of its script in a process of its own. Ends the program if there is none."""
        command = [str(self.python), str(self.runner), *map(str, arguments)]
        ours = ("PYTHONPATH", "GOMP_SPINCOUNT")  # nmt sets the second one when it is imported, if nobody else has
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        environment |= {"PEERS": str(self.folder), "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if done.returncode or not results:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return json.loads(results[-1].removeprefix("RESULT "))


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options `--peers` and `--runners`."""
    parser.add_argument(
        "--peers", type=Path, default=os.environ.get("PEERS"), help="folder with the peers' venv-NAME (default: $PEERS)"
    )
    parser.add_argument(
        "--runners", type=Path, help="folder with the scripts that run them (default: the folder of --peers)"
    )


def installed(options: argparse.Namespace) -> list[Peer]:
    """The peers that the options lead to: those with an environment and a script."""
    if options.peers is None:
        return []
    folder = options.peers.resolve()
    runners = (options.runners or folder).resolve()
    found = []
    for environment in sorted(folder.glob("venv-*")):
        name = environment.name.removeprefix("venv-")
        scripts = [script for script in (runners / f"{name}.py", runners / f"{name}_.py") if script.exists()]
        found += [Peer(name, folder, environment / "bin/python", script) for script in scripts[:1]]
    return found


def alternate(runs: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each run gave in each round. They take turns, so that a busy or a quiet hour meets all of them alike."""
    results: dict[str, list[T]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            results[name].append(run())
    return results


def medians(results: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> dict[str, float]:
    """The named figures' medians over the rounds."""
    return {figure: statistics.median(result[figure] for result in results) for figure in figures}
