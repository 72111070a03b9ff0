"""`python -m support.walk --inputs N`: a table of how many inputs of each family were accepted and refused."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from nmt.training import event_log
from support.walk.families import FAMILIES
from support.walk.runner import Counts, plan, prepared, remembered, walk

AT_ONCE = 20_000  # inputs, after which what is done is remembered


def main() -> int:
    parser = argparse.ArgumentParser(prog="support.walk", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all families together")
    parser.add_argument("--seed", type=int, default=1, help="another one draws other inputs")
    parser.add_argument("--only", action="append", default=[], metavar="FAMILY", help="may be repeated")
    parser.add_argument("--begin", type=int, default=0, metavar="N", help="with --only: the first number")
    parser.add_argument("--folder", type=Path, default=Path("build/walk"), help="a walk stopped there goes on")
    options = parser.parse_args()
    families = [family for family in FAMILIES if not options.only or family.name in options.only]
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    state, failures = folder / "done.json", folder / "failures.jsonl"
    event_log._summary_writer = lambda *_: None  # importing TensorBoard takes seconds
    if options.only and options.begin:
        for family in families:
            end = options.begin + options.inputs
            print(walk(family, options.begin, end, options.seed, prepared(folder, family), failures))
        return 0
    done = remembered(state)
    wanted = done.get("plan") or plan(families, options.inputs, folder)
    started = time.monotonic()
    for family in families:
        counts = Counts(*done.get(family.name, [0, Counts()])[1])
        number = done.get(family.name, [0])[0]
        while number < wanted[family.name]:
            end = min(wanted[family.name], number + max(1, AT_ONCE // family.together))
            counts = counts.plus(walk(family, number, end, options.seed, prepared(folder, family), failures))
            number = end
            done |= {"plan": wanted, family.name: [number, counts]}
            state.write_text(json.dumps(done), encoding="utf-8")
            print(f"{time.monotonic() - started:6.0f} s  {family.name}: {counts}", flush=True)
    return _table(done)


def _table(done: dict[str, list[int | Counts]]) -> int:
    print("\n| family | inputs | refused | slowest, s | MiB | failures |\n|---|--:|--:|--:|--:|--:|")
    total = Counts()
    for family in FAMILIES:
        if family.name in done:
            counts = Counts(*done[family.name][1])  # type: ignore[misc]
            total = total.plus(counts)
            print(_row(family.what, counts))
    print(_row("all", total))
    return 1 if total.failures else 0


def _row(name: str, counts: Counts) -> str:
    return (
        f"| {name} | {counts.inputs:,} | {counts.refused:,} | {counts.slowest:.1f} | {counts.peak >> 20} | "
        f"{counts.failures} |"
    )


if __name__ == "__main__":
    sys.exit(main())
