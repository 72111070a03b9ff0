"""How training shares a machine: alone, beside another training, and beside a process that keeps one core busy.

    python benchmarks/beside.py
    python benchmarks/beside.py --spin default 300 3000 --rounds 3
    python benchmarks/beside.py --spin default nmt --rows alone --rounds 9

Each training is a process of its own with all cores and the sizes and data of `peers.yaml`. Target tokens per second
are counted in a window of seconds in which all of the row's processes run, and the medians of several rounds are
printed. `--spin` sets GOMP_SPINCOUNT, how long PyTorch's threads wait for each other in a busy loop: `nmt` is what nmt
sets by itself, and `default` what OpenMP does without it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

ROWS = {"alone": (1, 0), "two trainings": (2, 0), "one busy core": (1, 1)}  # trainings, busy loops


def main() -> None:
    options = parse()
    if options.child is not None:
        train(options.child, options.seconds)
        return
    results: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for name, spin in itertools.product(options.rows, options.spin):
            results.setdefault(f"{spin}, {name}", []).append(speed := row(*ROWS[name], spin, options))
            print(f"{spin}, {name}: {speed:,.0f}", file=sys.stderr, flush=True)
    speeds = {name: statistics.median(figures) for name, figures in results.items()}
    first = options.rows[0]
    shares = {name: speed / speeds[f"{name.partition(',')[0]}, {first}"] for name, speed in speeds.items()}
    if options.json:
        print(json.dumps({"target_tokens_per_second": speeds, "share_of_first_row": shares}, indent=2))
        return
    print(f"{'spin, beside':<28}{'tokens/s':>10}{'of ' + first:>18}")
    for name, speed in speeds.items():
        print(f"{name:<28}{speed:>10,.0f}{shares[name]:>18.2f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spin", nargs="+", default=["nmt"], help="values of GOMP_SPINCOUNT, `nmt` or `default`")
    parser.add_argument(
        "--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="what to run; shares are of the first one"
    )
    parser.add_argument("--mechanism", default="bahdanau")
    parser.add_argument("--precision", default="auto", choices=["float32", "bf16", "int8", "auto"])
    parser.add_argument("--seconds", type=float, default=10, help="the window in which tokens are counted")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("MECHANISM", "PRECISION"), help=argparse.SUPPRESS)
    return parser.parse_args()


def row(trainings: int, loops: int, spin: str, options: argparse.Namespace) -> float:
    """The target tokens per second of all trainings together."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    if spin == "default":
        environment["GOMP_SPINCOUNT"] = "300000"  # what it takes where nothing is set
    elif spin != "nmt":
        environment["GOMP_SPINCOUNT"] = spin
    child = [sys.executable, __file__, "--seconds", str(options.seconds)]
    command = [*child, "--child", options.mechanism, options.precision]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(trainings)
    ]
    busy = []
    try:
        for process in running:
            answer(process)  # ready
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return sum(float(answer(process)) for process in running)
    finally:
        for process in [*busy, *running]:
            process.kill()
            process.wait()


def answer(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise SystemExit(f"a training ended early, with exit code {process.wait()}")
    return line.strip()


def train(what: list[str], seconds: float) -> None:
    """Warm up, wait for a line, and print the target tokens per second of the next seconds."""
    import peers
    import training as speeds
    from nmt.training.learner import make_learner

    from nmt.build import build_model
    from nmt.config.reading import load_config
    from nmt.data.batching import collate
    from nmt.training.update import update

    mechanism, precision = what
    config = peers.configured(load_config(peers.CONFIG, [f"training.precision={precision}"]), mechanism)
    batches, types = speeds.real_batches(config)
    learner = make_learner(build_model(config.model, *types).train(), config.training)

    def one(number: int) -> int:
        batch = collate(batches[number % len(batches)])
        update(learner, [batch], config.training, config.training.learning_rate, done=0)
        return batch.target_tokens

    for number in range(4):
        one(number)
    print("ready", flush=True)
    sys.stdin.readline()
    one(0)  # until the others run, too
    counted, tokens, started = itertools.count(), 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        tokens += one(next(counted))
    print(tokens / (time.perf_counter() - started), flush=True)
    while True:  # until those that count longer are done, too
        one(0)


if __name__ == "__main__":
    main()
