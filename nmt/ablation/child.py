"""One run of the comparison, in a process of its own: `python -m nmt.ablation.child < config.yaml`.

Exit codes are those of `nmt train`. The whole config comes through standard input, so that editing its file in the
meantime changes nothing.
"""

from __future__ import annotations

import sys

import yaml

from nmt.ablation import result
from nmt.ablation.measure import measure
from nmt.config.reading import parse_config
from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.training.interruption import Interrupted, StopSignals
from nmt.training.run import run


def main() -> int:
    """Train or resume training, measure, write the result; returns the exit code."""
    stop = StopSignals()
    try:
        with stop.installed():
            return _train_and_measure(parse_config(yaml.safe_load(sys.stdin), "standard input"), stop)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _train_and_measure(config: Config, stop: StopSignals) -> int:
    try:
        run(config, stop, resume=True)
        with stop.abandoning():
            measured = measure(config)
    except Interrupted:
        return 130
    result.write(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
