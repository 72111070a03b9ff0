"""Minutes from Multi30k to 40 BLEU (lower-cased, on validation): `nmt train configs/multi30k_fast.yaml` in a process.

    python benchmarks/clock.py
    python benchmarks/clock.py --add      # also appends the row to docs/clock.md

The time is that of a clock on the wall, from the start of the process, with the corpus on the disk and nothing in its
cache, to the validation that reaches the score: tokens, vocabularies, updates and all validations are in it. Prints one
line: CPU and those of its features that change which products are computed, cores, PyTorch, commit, minutes, updates,
BLEU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch

from nmt.data.multi30k import FOLDER, MIRROR_VARIABLE, fetch
from nmt.fast.processor import cpuinfo, this_processor
from nmt.system.errors import UserError
from nmt.system.process_pool import cores
from nmt.training.event_log import read_events

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "clock.md"
RULES = ["training.max_updates=1500", "training.validate_every=100", "training.seed=1", "evaluation.split=validation"]
BLEU = 40.0
FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "avx_vnni")
POLL = 0.05  # seconds between two looks at the run's metrics


def main() -> int:
    options = parse()
    try:
        for split, language in product(("train", "val"), ("de", "en")):
            fetch(split, language, ROOT / FOLDER)
    except UserError as error:
        print(f"clock: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        reached = measure(Path(folder), options.set, options.bleu)
    if reached is None:
        return 1
    minutes, event = reached
    cells = [*machine(), commit(), f"{minutes:.2f}", f"{event['update']:,}", f"{event['bleu']:.2f}"]
    print(" | ".join(cells))
    if options.add:
        with PAGE.open("a", encoding="utf-8") as page:
            page.write(f"| {' | '.join(cells)} |\n")
    return 0


def measure(folder: Path, settings: list[str], goal: float) -> tuple[float, dict[str, Any]] | None:
    """Minutes, and the first validation that has the BLEU; None, after a message, if the run ends before."""
    places = [f"output_dir={folder / 'runs'}", f"data.folder={folder / 'data'}", "name=clock"]
    overrides = [word for setting in [*RULES, *places, *settings] for word in ("--set", setting)]
    log = folder / "log"
    command = [sys.executable, "-m", "nmt", "train", str(ROOT / "configs" / "multi30k_fast.yaml"), *overrides]
    environment = os.environ | {"PYTHONPATH": str(ROOT), MIRROR_VARIABLE: str(ROOT / FOLDER)}
    begin = time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            while True:
                ended = process.poll() is not None  # before the events are read: none is missed
                minutes = (time.perf_counter() - begin) / 60
                validations = [
                    event for event in read_events(folder / "runs" / "clock") if event["event"] == "validation"
                ]
                for event in validations:
                    if event["bleu"] >= goal:
                        return minutes, event
                if ended:
                    best = max((event["bleu"] for event in validations), default=None)
                    print(log.read_text()[-500:], f"not reached: {goal} BLEU (best: {best})", sep="\n", file=sys.stderr)
                    return None
                time.sleep(POLL)
        finally:
            process.terminate()
            process.wait()


def machine() -> list[str]:
    """CPU, features, cores, PyTorch: a row's first cells."""
    features = [name for name in FEATURES if name in this_processor().features]
    name, family, model = (cpuinfo().get(key, "unknown") for key in ("model name", "cpu family", "model"))
    return [f"{name} (family {family}, model {model})", " ".join(features), str(cores()), torch.__version__]


def commit() -> str:
    """The commit that was measured, with a + if files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short=8", "HEAD") + "+" * bool(git("status", "--porcelain", "-uno"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--add", action="store_true", help="append the row to docs/clock.md")
    add("--bleu", type=float, default=BLEU, help="the score (default: 40)")
    add("--set", action="append", default=[], metavar="FIELD=VALUE", help="another setting, to try something")
    options = parser.parse_args()
    if options.add and (options.set or options.bleu != BLEU):
        parser.error("--add takes rows of the page's rules only: leave out --bleu and --set")
    return options


if __name__ == "__main__":
    sys.exit(main())
