"""The one exception that means "the user's input is wrong", not "the program is"."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Input that cannot be used: a file, a config, an option.

    Its text is one line that names the file, line or field, what is wrong and what to do.
    The command line prints it without a traceback and exits with code 2.
    """

    def __init__(self, text: str) -> None:
        # It may quote a file or another program: lines, control characters, and far more than fits a screen.
        line = " ".join(_cut(text).splitlines())
        super().__init__(_cut(_CONTROLS.sub(lambda found: repr(found[0])[1:-1], line)))


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # what would move a terminal's cursor, or is no text
MOST = 1000  # characters of a message, which fit a screen


def _cut(text: str) -> str:
    """A message of at most `MOST` characters: of a longer one its beginning and its end, which says what to do."""
    return text if len(text) <= MOST else f"{text[: MOST * 3 // 4]} … {text[-MOST // 4 + 3 :]}"


@contextmanager
def placing(where: str) -> Iterator[None]:
    """Put a place, such as "model.pt: data.source.", before the text of a `UserError` raised within."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"{where}{error}") from None
