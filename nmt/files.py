"""Files that are whole or not there: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nmt.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves no trace if it does not.

    A reader sees the old content or the new, nothing between, even if two processes write at once. The folder is
    made if need be. Raises `UserError` if the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    make_folder(path.parent)
    try:
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}): free or choose another place") from None


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there. Raises `UserError` if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made a folder ({error.strerror or error}): choose another place") from None
