"""`python -m support.walk --inputs N`: a table of how many inputs of each family were accepted and refused."""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

from nmt.training import event_log
from support.walk.families import FAMILIES
from support.walk.family import Family
from support.walk.runner import Counts, walk

AT_ONCE = 20_000  # inputs, after which the counts are saved


def main() -> int:
    parser = argparse.ArgumentParser(prog="support.walk", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all families together")
    parser.add_argument("--seed", type=int, default=1, help="another one draws other inputs")
    parser.add_argument("--only", action="append", default=[], metavar="FAMILY", help="may be repeated")
    parser.add_argument("--folder", type=Path, default=Path("build/walk"), help="a walk stopped there goes on")
    options = parser.parse_args()
    families = [family for family in FAMILIES if not options.only or family.name in options.only]
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    event_log._summary_writer = lambda *_: None  # importing TensorBoard takes seconds
    state = folder / "done.json"
    done: dict[str, Any] = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {}
    ends = done.setdefault("ends", plan(families, options.inputs, folder))
    started = time.monotonic()
    for family in families:
        number, values = done.get(family.name, (0, ()))
        counts = Counts(*values)
        while number < ends[family.name]:
            begin, number = number, min(ends[family.name], number + max(1, AT_ONCE // family.together))
            failures = folder / "failures.jsonl"
            counts = counts.plus(walk(family, begin, number, options.seed, folder / family.name, failures))
            done[family.name] = number, counts
            state.write_text(json.dumps(done), encoding="utf-8")
            print(f"{time.monotonic() - started:6.0f} s  {family.name}: {counts}", flush=True)
    return table({family: Counts(*done[family.name][1]) for family in families})


def plan(families: list[Family], inputs: int, folder: Path) -> dict[str, int]:
    """How many numbers of each family make so many inputs: all systematic ones that fit, and chance for the rest."""
    systematic = {}
    for family in families:
        (folder / family.name).mkdir(exist_ok=True)
        with chdir(folder / family.name):
            systematic[family.name] = family.begin(folder / family.name)[1]
    left = inputs - sum(systematic.values())
    if left <= 0:  # a short walk: some of everything
        left, systematic = inputs, dict.fromkeys(systematic, 0)
    shares = sum(family.share for family in families) or 1
    return {f.name: max(1, systematic[f.name] + round(left * f.share / shares / f.together)) for f in families}


def table(results: dict[Family, Counts]) -> int:
    print("\n| family | inputs | refused | slowest, s | MiB | failures |\n|---|--:|--:|--:|--:|--:|")
    total = Counts()
    for name, counts in [*((family.what, counts) for family, counts in results.items()), ("all", None)]:
        total = total.plus(counts or Counts())
        inputs, refused, failures, slowest, peak = counts or total
        print(f"| {name} | {inputs:,} | {refused:,} | {slowest:.1f} | {peak >> 20} | {failures} |")
    return int(total.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
