"""An exported model beside nmt: whole processes that translate one sentence, and a file.

    python benchmarks/exported.py
    python benchmarks/exported.py --quality

Exports a checkpoint (by default the bundled model) in each precision. Then `nmt translate` in float32 and each folder's
translate.py take turns: seconds from start to end of a process that translates one sentence, seconds for a file (by
default Multi30k's test 2016), and the largest resident memory of both, in MiB. Figures are medians of `--rounds`
rounds, behind one that warms the disk cache. All use `--threads` threads.

`--quality` instead prints the size of each folder, its lower-cased BLEU on the file, and how many translations differ
from nmt's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import sacrebleu
import torch

from nmt.config.data import DataConfig
from nmt.data.splits import load_split
from nmt.export.commands.export import PRECISIONS
from nmt.lab.machine import describe_machine
from nmt.system import bundled

SENTENCE = "Ein Hund läuft über die Wiese."


def main() -> None:
    options = parse()
    text = load_split(DataConfig(corpus="multi30k", folder=options.data), "test")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "input").write_text("".join(f"{line}\n" for line in text.source), encoding="utf-8")
        commands = {"nmt translate": translating(options)}
        for precision in PRECISIONS:
            output = place / precision
            export = ["export", str(options.checkpoint), "--output", str(output), "--precision", precision]
            subprocess.run([sys.executable, "-m", "nmt", *export], check=True, capture_output=True)
            threads = ["--threads", str(options.threads)]
            commands[f"translate.py, {precision}"] = [sys.executable, str(output / "translate.py"), *threads]
        print(describe_machine(torch.device("cpu")))
        if options.quality:
            show_quality(commands, place, text.target)
        else:
            show_speed(commands, place, options.rounds)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, nargs="?", default=bundled.MODEL, metavar="CHECKPOINT")
    parser.add_argument("--data", default="data", metavar="DIR", help="where Multi30k is, or will be put")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quality", action="store_true", help="BLEU and sizes instead of speed")
    return parser.parse_args()


def translating(options: argparse.Namespace) -> list[str]:
    search = ["--precision", "float32", "--threads", str(options.threads)]
    return [sys.executable, "-m", "nmt", "translate", str(options.checkpoint), *search]


def show_quality(commands: dict[str, list[str]], place: Path, references: list[str]) -> None:
    print(f"{'':24}{'MB':>7}{'BLEU lc':>9}{'differ':>8}")
    first: list[str] = []
    for name, command in commands.items():
        output = subprocess.run([*command, "--input", str(place / "input")], check=True, capture_output=True, text=True)
        lines = output.stdout.split("\n")[:-1]
        first = first or lines
        score = sacrebleu.corpus_bleu(lines, [references], lowercase=True).score
        differ = sum(one != other for one, other in zip(first, lines, strict=True))
        folder = place / name.rpartition(" ")[2]
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6 if folder.is_dir() else float("nan")
        print(f"{name:24}{size:7.1f}{score:9.2f}{differ:8}")


def show_speed(commands: dict[str, list[str]], place: Path, rounds: int) -> None:
    runs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(rounds + 1):
        for name, command in commands.items():
            for kind, arguments in (("sentence", [SENTENCE]), ("file", ["--input", str(place / "input")])):
                runs.setdefault((name, kind), []).append(measured([*command, *arguments]))
    print(f"{'':24}{'sentence, s':>13}{'MiB':>6}{'file, s':>10}{'MiB':>6}")
    for name in commands:
        figures = [
            statistics.median(column)
            for kind in ("sentence", "file")
            for column in zip(*runs[name, kind][1:], strict=True)
        ]
        print(f"{name:24}{figures[0]:13.2f}{figures[1]:6.0f}{figures[2]:10.2f}{figures[3]:6.0f}")


# A process counts as its own what the one that started it had taken, so a small one starts it.
STARTER = """
import resource, subprocess, sys, time
begin = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(status, time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and the largest resident memory of a process, in MiB."""
    starter = [sys.executable, "-S", "-c", STARTER, *command]
    status, seconds, memory = subprocess.run(starter, check=True, capture_output=True, text=True).stdout.split()
    if status != "0":
        raise SystemExit(f"{' '.join(command)} failed")
    return float(seconds), int(memory) / (1024 if sys.platform != "darwin" else 1024**2)


if __name__ == "__main__":
    main()
