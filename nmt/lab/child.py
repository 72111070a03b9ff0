"""One run of the comparison, in a process of its own: `python -m nmt.lab.child`.

Exit codes are those of `nmt train`. The whole config comes through standard input, up to YAML's end of a document
(`...`), so that editing its file in the meantime changes nothing. When standard input ends, the process that has
started this one has ended, in any way: the run saves and ends, too.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import takewhile

import yaml

from nmt.config.reading import parse_config
from nmt.config.run import Config
from nmt.lab import result
from nmt.lab.measure import measure
from nmt.system.errors import UserError
from nmt.training.interruption import StopSignals
from nmt.training.run import run


def main() -> int:
    """Train or resume training, measure, write the result; returns the exit code."""
    try:
        document = "".join(takewhile("...\n".__ne__, sys.stdin))
        config = parse_config(yaml.safe_load(document), "standard input")
        threading.Thread(target=stop_at_end, args=(sys.stdin.fileno(),), daemon=True).start()
        return _train_and_measure(config)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def stop_at_end(descriptor: int) -> None:
    """Wait for the end of what can be read there; then stop this process as SIGTERM does."""
    while os.read(descriptor, 1024):  # not by `sys.stdin`, whose lock would be held as the process ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _train_and_measure(config: Config) -> int:
    stop = StopSignals()
    run(config, stop, resume=True)
    if stop.requested:
        return 130
    result.write(measure(config), result.path_of(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
