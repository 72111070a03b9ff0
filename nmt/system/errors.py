"""The one exception that means "the user's input is wrong", not "the program is"."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Input that cannot be used: a file, a config, an option.

    Its text is one line that names the file, line or field, what is wrong and what to do.
    The command line prints it without a traceback and exits with code 2.
    """

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.splitlines()))  # of a file's or another program's words, too


@contextmanager
def placing(where: str) -> Iterator[None]:
    """Put a place, such as "model.pt: data.source.", before the text of a `UserError` raised within."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"{where}{error}") from None
