"""The whole comparison: from configs to a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nmt.ablation import page, result, runs
from nmt.ablation.measure import test_set_of
from nmt.training.interruption import StopSignals


def compare(
    configs: Sequence[str], overrides: Sequence[str], *, output: Path, jobs: int, machine: str | None = None
) -> int:
    """Run what is not done yet of the configs (files; none named: all of configs/ablation), then write the page.

    `overrides` are `a.b=VALUE`, for each config; `jobs` runs go on at once; `machine` is what the page calls it.
    Returns the exit code: 0; 2 or 1 if a run failed, by its input or by a defect; 130 if it was stopped.
    Raises `UserError` before anything is run if configs, folders or page do not fit.
    """
    chosen = runs.load_configs(configs, overrides)
    page.check(output)
    test_set = test_set_of(chosen[0])
    stop = StopSignals()
    with stop.installed():
        failures = runs.run_all(chosen, jobs, stop)
    done = [config for config in chosen if result.path_of(config).exists()]
    if stop.requested:
        print(f"{len(done)} of {len(chosen)} are done. The same command goes on from here.")
        return 130
    if done:
        settings = [part for override in overrides for part in ("--set", override)]
        arguments = [*configs, "--output", str(output), "--jobs", str(jobs), *settings]
        made = page.Making(
            command=shlex.join(["python", "scripts/ablation.py", *arguments]),
            machine=machine,
            missing=[failure.name for failure in failures],
        )
        results = [result.read(result.path_of(config)) for config in done]
        print(f"Written: {', '.join(map(str, page.write(output, results, test_set, made)))}")
    if not failures:
        return 0
    return 1 if any(failure.is_defect for failure in failures) else 2
