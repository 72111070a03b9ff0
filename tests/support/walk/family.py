"""What may come of an input: a result, or one line that says what is wrong."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from unittest.mock import patch

from nmt.cli import main
from nmt.system.errors import LIMIT, UserError

Try = Callable[[int, Random], bool]
"""Try the input of a number; returns whether it was refused. Raises AssertionError, or anything, if neither is true."""


def refused(function: Callable[[], object], *beginnings: object) -> bool:
    """Whether the function refused its input in the way that is promised; its output is not shown.

    The message begins with one of some texts (paths, as a rule), if any are given.
    """
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            function()
    except UserError as error:
        message = str(error)
        check_line(message)
        begins = [str(UserError(str(beginning)))[:200] for beginning in beginnings]
        assert not begins or any(map(message.startswith, begins)), message
        return True
    return False


def check_line(line: str) -> None:
    """Fail unless this can stand on a screen as one line, and says something."""
    assert len(line.splitlines()) == 1, f"not one line: {line!r}"
    assert len(line) <= LIMIT, f"{len(line)} characters: {line[:200]!r}"
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in line), repr(line)


def command(*arguments: str, stdin: bytes = b"") -> tuple[bool, str]:
    """Whether a command refused, and its standard output. Exit codes other than 0 and 2, and tracebacks, are errors."""
    out, errors, path = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO(), Path("standard-input")
    path.write_bytes(stdin)
    with (
        path.open(encoding="utf-8") as file,
        patch.object(sys, "stdin", file),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        code = main(arguments)
    out.flush()
    messages = errors.getvalue()
    assert code in (0, 2), f"exit code {code}"
    assert "Traceback" not in messages, messages
    lines = messages.split("\n")
    assert sum(line.startswith("error: ") for line in lines) == (code == 2), messages
    if code == 2:
        assert (lines[-1], lines[-2][:7]) == ("", "error: "), messages
        check_line(lines[-2].removeprefix("error: "))
    return code == 2, out.buffer.getvalue().decode()
