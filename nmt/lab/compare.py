"""The whole comparison: from configs to a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nmt.config.run import Config
from nmt.lab import page, result, runs
from nmt.lab.configs import load_configs
from nmt.lab.measure import test_set_of
from nmt.system.errors import UserError
from nmt.training.interruption import StopSignals


def compare(
    configs: Sequence[str],
    overrides: Sequence[str],
    *,
    output: Path,
    jobs: int,
    machine: str | None = None,
    seeds: int = 1,
    base: str | None = None,
    recipe: str | None = None,
) -> int:
    """Train and measure the configs (files; none: every mechanism), then write the page. Finished runs are skipped.

    A run is finished if its folder has its result, or if the page's folder has it, which keeps those of an interrupted
    comparison, too. `recipe` is a config that gives all but the mechanisms (None: each config gives all of it itself).
    `overrides` are `a.b=VALUE` for each config, `jobs` the number of runs at once, `machine` what the page calls it,
    `seeds` the number of runs of each mechanism, `base` the name of the one that the others are tested against.
    Returns the exit code: 0; 2 or 1 if a run failed, because of its input or of a bug; 130 if it was stopped.
    Raises `UserError` before anything is run if the configs do not go together, or folders or page cannot be used.
    """
    chosen = load_configs(configs, overrides, seeds, recipe)
    _check_base(base, chosen, seeds)
    page.check(output)
    _bring(chosen, output)
    test_set = test_set_of(chosen[0])
    stop = StopSignals()
    with stop.installed():
        failures = runs.run_all(chosen, jobs, stop)
    done = [result.keep(config, output) for config in chosen if result.path_of(config).exists()]
    if stop.requested:
        print(f"{len(done)} of {len(chosen)} runs are finished. To continue, give the same command again.")
        return 130
    if done:
        arguments = [*configs, "--output", str(output), "--jobs", str(jobs)]
        arguments += [part for override in overrides for part in ("--set", override)]
        several = str(seeds) if seeds > 1 else None
        options = {"--recipe": recipe, "--seeds": several, "--base": base, "--machine": machine}
        arguments += [part for option, value in options.items() if value is not None for part in (option, value)]
        made = page.Making(
            command=shlex.join(["nmt", "ablation", *arguments]),
            machine=machine,
            missing=[failure.name for failure in failures],
            base=base,
        )
        written = page.write(output, done, test_set, made)
        print(f"Written: {', '.join(map(str, written))}, and each run's result in {output / 'results'}")
    if not failures:
        return 0
    return 1 if any(failure.is_defect for failure in failures) else 2


def _check_base(base: str | None, chosen: Sequence[Config], seeds: int) -> None:
    if base is not None and seeds == 1:
        raise UserError("--base is for tests over several seeds: add --seeds 3, or leave it out")
    if base is not None and base not in (names := [config.name for config in chosen[: len(chosen) // seeds]]):
        raise UserError(f"--base {base}: no config has this name; there are {', '.join(names)}")


def _bring(chosen: Sequence[Config], output: Path) -> None:
    """Take the results that the page's folder keeps, and say so."""
    brought = sum([result.bring(config, output) for config in chosen])
    if brought:
        where = f"{output / 'results'} and {chosen[0].output_dir}"
        print(f"{brought} results are from {output / 'results'}; to train those models again, delete {where}")
