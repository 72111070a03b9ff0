"""The command line: `nmt train`, `nmt translate`, and so on.

Exit codes: 0 done; 2 wrong input (one line on standard error); 130 stopped by Ctrl-C, or, in commands that save or
serve, by SIGTERM; 1 a bug in nmt (with its traceback). Nothing heavy is imported before a command needs it.
"""

import argparse
import difflib
import errno
import gc
import io
import os
import select
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from nmt import __version__, addons
from nmt.commands.options import Parser
from nmt.system.errors import UserError
from nmt.system.startup import open_closed_streams, stop_imports_on_ctrl_c
from nmt.system.values import is_unicode

_ADDED = addons.commands()
COMMANDS = {  # modules of nmt.commands with their purposes; add-ons register more
    "train": "train a model from a YAML config, then score it on the test set",
    "translate": "translate sentences, a file or standard input",
    "evaluate": "score models on a test set, also by sentence length, and compare them",
    "score": "print the log-probability of given translations",
    "average": "average checkpoints of one run, or of runs from one checkpoint; store one in 16 or 8 bits",
} | {name: purpose for name, (_, purpose) in _ADDED.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    open_closed_streams()
    # German text, whatever the locale says. Any of the streams may have been closed.
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    try:
        code = _run(sys.argv[1:] or ["--help"] if arguments is None else arguments)
        sys.stdout.flush()  # while what goes wrong can be said
        gc.freeze()  # so that Python, as it ends, does not search all objects once more
        return code
    except UserError as error:
        refusal = error
    except KeyboardInterrupt:
        sys.unraisablehook = lambda _: None  # objects that were cut off half-way complain as they are deleted
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has gone, as `head` does: there is no use in going on
        if sys.platform != "win32":
            output = select.poll()
            output.register(sys.stdout.fileno(), 0)
            if not output.poll(0):  # another pipe
                raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again as it exits
            refusal = UserError(f"cannot write the output ({error.strerror}): free some space, then try again")
        elif error.errno == errno.EMFILE:
            refusal = UserError("too few files may be open at once: raise the limit (ulimit -n 1024)")
        elif error.filename is None:
            raise
        else:
            remedy = "shorten it" if error.errno == errno.ENAMETOOLONG else "check the path and its permissions"
            refusal = UserError(f"{error.filename}: {error.strerror}: {remedy}")
    print(f"error: {refusal}", file=sys.stderr)
    return 2


def _run(arguments: Sequence[str]) -> int:
    for argument in arguments:
        if not is_unicode(argument):
            raise UserError(f"the argument {argument!r} is not in UTF-8: convert the text, or rename the file")
    options = _parser().parse_args(arguments)
    stop_imports_on_ctrl_c()
    gc.set_threshold(100_000)  # of 700 by default: imports make a million objects, and no garbage
    command = module_of(options.command)
    # Intermixed, so that options may stand between a checkpoint and a sentence; subparsers cannot do that.
    return int(command.run(command.parser().parse_intermixed_args(options.arguments)))


def module_of(command: str) -> ModuleType:
    """The module of a command, which has its `parser()` and `run()`."""
    package, _ = _ADDED.get(command, ("nmt", ""))
    return import_module(f"{package}.commands.{command.replace('-', '_')}")


def _parser() -> Parser:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {purpose}" for name, purpose in COMMANDS.items())
    parser = Parser(
        prog="nmt",
        usage="nmt COMMAND …",
        description="Attention-based neural machine translation.",
        epilog=f"commands:\n{commands}\n\nnmt COMMAND --help lists the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nmt {__version__}")
    parser.add_argument("command", type=_command, choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _command(name: str) -> str:
    """The name of a command. Raises `UserError` for one whose add-on is not installed, or that is misspelt."""
    if name not in COMMANDS and name in addons.HOME:
        raise UserError(f"{name} belongs to the add-on nmt.{addons.HOME[name]}, which is not installed")
    if name not in COMMANDS and (near := difflib.get_close_matches(name, COMMANDS, n=1)):
        raise UserError(f"{name} is not a command: did you mean nmt {near[0]}?")
    return name
