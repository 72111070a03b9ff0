"""How training scales: one process with one thread, one process with two, and two processes with one thread each.

    python benchmarks/scaling.py
    python benchmarks/scaling.py configs/multi30k_bahdanau.yaml --rounds 5 --updates 100

Prints target tokens per second, medians of rounds in which the three take turns. All make the same updates: each of two
processes gets half of the batch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from nmt.config.reading import load_config
from nmt.lab.machine import describe_machine

ROOT = Path(__file__).parent.parent
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
RUNS = {"1 process, 1 thread": (1, 1), "1 process, 2 threads": (1, 2), "2 processes, 1 thread each": (2, 1)}


def main() -> None:
    options = parse()
    speeds: dict[str, list[float]] = {name: [] for name in RUNS}
    for _ in range(options.rounds):
        for name, (processes, threads) in RUNS.items():
            with tempfile.TemporaryDirectory() as folder:
                speeds[name].append(speed(options, processes, threads, Path(folder)))
    medians = {name: statistics.median(of_run) for name, of_run in speeds.items()}
    machine = describe_machine(torch.device("cpu"))
    if options.json:
        print(json.dumps({"machine": machine, "target_tokens_per_second": medians}))
        return
    print(f"{machine}\n{options.config.name}: {options.updates} updates a round, {options.rounds} rounds")
    for name, median in medians.items():
        print(f"{name:28}{median:8,.0f} target tokens/s{median / medians['1 process, 1 thread']:8.2f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, nargs="?", default=ROOT / "configs" / "multi30k.yaml", metavar="CONFIG")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=60, help="updates in a round; the first ten are not counted")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def speed(options: argparse.Namespace, processes: int, threads: int, folder: Path) -> float:
    """Target tokens per second of a run, whose first ten updates are not counted."""
    batch = load_config(options.config).training.batch_size // processes
    settings = {
        "name": "scaling",
        "output_dir": folder,
        "training.batch_size": batch,
        "training.threads": threads,
        "training.max_updates": options.updates,
        "training.max_epochs": "null",
        "training.validate_every": 10**6,
        "training.log_every": 10,
        "search.max_length": 1,  # of the validation at the end, which is not measured
        "evaluation.split": "validation",
    }
    command = [sys.executable, *(TORCHRUN if processes > 1 else []), str(ROOT / "scripts" / "train.py"), options.config]
    for field, value in settings.items():
        command += ["--set", f"{field}={value}"]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=ROOT)
    lines = (folder / "scaling" / "metrics.jsonl").read_bytes().splitlines()
    laps = [event["target_tokens_per_second"] for event in map(json.loads, lines) if event["event"] == "train"]
    return statistics.harmonic_mean(laps[1:])


if __name__ == "__main__":
    main()
