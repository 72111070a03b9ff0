"""The command line: `nmt train`, `nmt translate`, `nmt evaluate`, `nmt average`, `nmt ablation`.

Exit codes: 0 done; 2 the user's input is wrong (one line on standard error); 130 stopped by Ctrl-C or SIGTERM, in
training after saving; 1 a defect of ours (with its traceback). Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from nmt.commands.options import Parser
from nmt.errors import UserError

COMMANDS = ("train", "translate", "evaluate", "average", "ablation")  # modules of nmt.commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # German, whatever the locale says
    parser = Parser(prog="nmt", description="Attention-based neural machine translation.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see nmt COMMAND --help")
    try:
        chosen = parser.parse_args(sys.argv[1:] or ["--help"] if arguments is None else arguments)
        command = import_module(f"nmt.commands.{chosen.command}")
        # Intermixed, so that options may stand between a checkpoint and a sentence; subparsers cannot do that.
        return command.run(command.parser().parse_intermixed_args(chosen.arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would try once more
        print(
            f"error: no room for the output ({error.strerror}): free some, then begin anew or resume", file=sys.stderr
        )
        return 2


if __name__ == "__main__":
    sys.exit(main())
