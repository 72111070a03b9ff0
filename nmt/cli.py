"""The command line: `nmt train`, `nmt translate`, `nmt evaluate`, `nmt average`, `nmt ablation`.

Exit codes: 0 done; 2 the user's input is wrong (one line on standard error); 130 stopped by Ctrl-C or SIGTERM, in
training after saving; 1 a defect of ours (with its traceback). Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from nmt.commands.options import Parser
from nmt.system.errors import UserError

COMMANDS = ("train", "translate", "evaluate", "average", "ablation")  # modules of nmt.commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    # German, whatever the locale says; any of them may have been closed.
    for stream, wrong in ((sys.stdin, "surrogateescape"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=wrong)
    parser = Parser(prog="nmt", description="Attention-based neural machine translation.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see nmt COMMAND --help")
    try:
        given = sys.argv[1:] or ["--help"] if arguments is None else arguments
        for argument in given:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise UserError(f"the argument {argument!r} is not in UTF-8: give text so, or rename the file")
        chosen = parser.parse_args(given)
        command = import_module(f"nmt.commands.{chosen.command}")
        # Intermixed, so that options may stand between a checkpoint and a sentence; subparsers cannot do that.
        return command.run(command.parser().parse_intermixed_args(chosen.arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does: no use in going on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            print(f"error: {error.filename}: a name can hold no more than 255 bytes: shorten it", file=sys.stderr)
            return 2
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would try once more
        print(
            f"error: no room for the output ({error.strerror}): free some, then begin anew or resume", file=sys.stderr
        )
        return 2


if __name__ == "__main__":
    sys.exit(main())
