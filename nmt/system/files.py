"""Files that are whole or not there: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nmt.system.errors import UserError

_TEMPORARY = ".tmp"


@contextmanager
def replacing(path: Path, kept: Path | None = None) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves no trace if it does not.

    A reader sees the old content or the new, nothing between, even if two processes write at once. The folder is
    made if need be. The old file gets the name `kept`, if one is given: should the process be killed in that very
    moment, the old one stands there, and none at `path`. Raises `UserError` if the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    make_folder(path.parent)
    with writing(path):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if kept is not None and path.exists():
                path.replace(kept)
            temporary.replace(path)
            _flush_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says against writing a file into a `UserError`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}): free or choose another place") from None


def require_regular(path: Path) -> None:
    """Raise `OSError` for what is neither a file nor a folder: a pipe or a device may never come to its end.

    Raises `FileNotFoundError` and the like, too, as opening the file would.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def remove_temporary(folder: Path) -> None:
    """Remove what processes left in a folder that were killed inside `replacing`. None may be inside it now."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, refusal: str | None) -> Iterator[IO[bytes]]:
    """Hold a file against other processes until the block ends, or this process and its heirs do, however.

    Yields the file, made if need be, for appending. If another process holds it, raises `UserError` with the text
    `refusal`, or without one says so on standard error and waits. Raises `UserError`, too, if it cannot be opened.
    """
    make_folder(path.parent)
    with writing(path):
        file = path.open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if refusal is not None:
                raise UserError(refusal) from None
            print(f"Waiting for another process, which works in {path.parent}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _flush_folder(folder: Path) -> None:
    """Have a folder's names on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
