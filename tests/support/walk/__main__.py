"""`python -m support.walk --inputs N`: a table of how many inputs of each family were accepted and refused."""

from __future__ import annotations

import argparse
import sys
from contextlib import chdir
from pathlib import Path

from nmt.training import event_log
from support.walk.families import FAMILIES
from support.walk.family import Family
from support.walk.runner import Counts, walk


def main() -> int:
    parser = argparse.ArgumentParser(prog="support.walk", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all families together")
    parser.add_argument("--seed", type=int, default=1, help="another one draws other inputs")
    parser.add_argument("--only", action="append", default=[], metavar="FAMILY", help="may be repeated")
    parser.add_argument("--folder", type=Path, default=Path("build/walk"), help="where failures.jsonl is written")
    options = parser.parse_args()
    families = [family for family in FAMILIES if not options.only or family.name in options.only]
    folder = options.folder.resolve()
    event_log._summary_writer = lambda *_: None  # importing TensorBoard takes seconds
    print("| family | inputs | refused | slowest, s | MiB | failures |\n|---|--:|--:|--:|--:|--:|")
    total = Counts()
    for family, end in plan(families, options.inputs, folder).items():
        counts = walk(family, 0, end, options.seed, folder / family.name, folder / "failures.jsonl")
        print(counts.row(family.what), flush=True)
        total = total.plus(counts)
    print(total.row("all"))
    return int(total.failures > 0)


def plan(families: list[Family], inputs: int, folder: Path) -> dict[Family, int]:
    """How many numbers of each family make so many inputs: all systematic ones that fit, and chance for the rest."""
    systematic = {}
    for family in families:
        (folder / family.name).mkdir(parents=True, exist_ok=True)
        with chdir(folder / family.name):
            systematic[family] = family.begin(folder / family.name)[1]
    if (rest := inputs - sum(systematic.values())) <= 0:  # a short walk: some of everything
        rest, systematic = inputs, dict.fromkeys(systematic, 0)
    shares = sum(family.share for family in families) or 1
    return {f: max(1, count + round(rest * f.share / shares / f.together)) for f, count in systematic.items()}


if __name__ == "__main__":
    sys.exit(main())
