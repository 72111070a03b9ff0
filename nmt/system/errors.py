"""The one exception that means "the user's input is wrong", not "the program is"."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 1000  # characters of a message, which fit a screen
# What would move a terminal's cursor, turns the direction of what follows, or is no text.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class UserError(Exception):
    """Input that cannot be used: a file, a config, an option.

    Its text is one line: the file, line or field, what is wrong, what to do. Commands print it and exit with code 2.
    """

    def __init__(self, text: str) -> None:
        # It may quote a file or another program: lines, control characters, and far more than fits a screen.
        line = " ".join(_cut(text).splitlines())
        super().__init__(_cut(CONTROLS.sub(lambda match: repr(match[0])[1:-1], line)))


def escape_controls(text: str) -> str:
    """JSON whose texts have control characters as escapes."""
    return CONTROLS.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _cut(text: str) -> str:
    """A message of at most `LIMIT` characters: of a longer one its beginning and its end, which says what to do."""
    return text if len(text) <= LIMIT else f"{text[: LIMIT * 3 // 4]} … {text[-LIMIT // 4 + 3 :]}"


@contextmanager
def prefix_errors_with(prefix: str) -> Iterator[None]:
    """Put a prefix, such as "model.safetensors: data.source.", before the text of a `UserError` raised in the block."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"{prefix}{error}") from None
