"""The whole comparison: from configs to a page."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from nmt.config.run import Config
from nmt.lab import page, result, runs
from nmt.lab.configs import load_configs
from nmt.lab.measure import test_set_of
from nmt.training.interruption import StopSignals


def compare(options: argparse.Namespace) -> int:
    """Train and measure the configs, then write the page. `options` are those of `nmt ablation`.

    Finished runs are skipped: those whose folder has their result, or whose result is in the page's folder, which keeps
    those of an interrupted comparison, too. Returns the exit code: 0; 2 or 1 if a run failed, because of its input or
    of a bug; 130 if it was stopped. Raises `UserError` before anything is run if the configs do not go together, or
    folders or page cannot be used.
    """
    output: Path = options.output
    configs = load_configs(options.configs, options.set, options.seeds, options.recipe)
    page.check(output)
    _copy_kept_results(configs, output)
    test_set = test_set_of(configs[0])
    stop = StopSignals()
    with stop.installed():
        failures = runs.run_all(configs, options.jobs, stop)
    results = [result.keep(config, output) for config in configs if result.path_of(config).exists()]
    if stop.requested:
        print(f"{len(results)} of {len(configs)} runs are finished. To continue, give the same command again.")
        return 130
    if results:
        missing = [failure.name for failure in failures]
        written = page.write(output, results, test_set, _command(options), missing)
        print(f"Written: {', '.join(map(str, written))}, and each run's result in {output / 'results'}")
    if not failures:
        return 0
    return 1 if any(failure.is_defect for failure in failures) else 2


def _command(options: argparse.Namespace) -> str:
    """The command that makes the same page."""
    arguments = [*options.configs, "--output", options.output, "--jobs", options.jobs]
    for override in options.set:
        arguments += ["--set", override]
    if options.seeds > 1:
        arguments += ["--seeds", options.seeds]
    if options.recipe is not None:
        arguments += ["--recipe", options.recipe]
    return shlex.join(["nmt", "ablation", *map(str, arguments)])


def _copy_kept_results(configs: Sequence[Config], output: Path) -> None:
    count = sum([result.restore(config, output) for config in configs])
    if count:
        where = f"{output / 'results'} and {configs[0].output_dir}"
        print(f"{count} results are from {output / 'results'}; to train those models again, delete {where}")
