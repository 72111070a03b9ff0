"""Files that are either complete or absent: written under a temporary name, flushed to disk, then renamed."""

import errno
import hashlib
import json
import multiprocessing
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from nmt.system.errors import UserError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TEMPORARY = ".tmp"


@contextmanager
def replace_atomically(path: Path, previous: Path | None = None) -> Iterator[IO[bytes]]:
    """A binary file that replaces `path` if the block succeeds, and leaves no trace if it fails.

    A reader sees either the old content or the new. The folder is created if necessary. The old file is renamed to
    `previous`, if given; between the two there is none. Raises `UserError` if the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    make_folder(path.parent)
    with report_write_errors(path):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if previous is not None and path.exists():
                path.replace(previous)
            temporary.replace(path)
            if sys.platform != "win32":  # where a folder cannot be opened
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        finally:
            remove(temporary)


def write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, as `replace_atomically` does."""
    with replace_atomically(path) as file:
        file.write(content)


def make_folder(folder: Path) -> None:
    """Create a folder unless it exists. Raises `UserError` if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be created ({error.strerror or error}): choose another place") from None


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn a system error while writing a file into a `UserError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{path} cannot be written ({reason}): free some space or choose another place") from None


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes. Raises `OSError` if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_new(path: Path, option: str = "--output") -> None:
    """Raise `UserError` if anything is at `path`, or if nothing can be written there: before the work, not after it."""
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} already exists: choose another {option}, or remove it")
    require_writable(path, option)


def require_writable(path: Path, option: str = "--output") -> None:
    """Raise `UserError` if nothing can be written at `path`, be it a file or a folder. Nothing is created."""
    existing = next(parent for parent in (path, *path.absolute().parents) if os.path.exists(parent))
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{path} cannot be written: {existing} is not a writable folder; choose another {option}")


def require_regular(path: Path) -> None:
    """Raise `OSError` for anything but a file or folder, as opening might: reading a pipe or a device may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def remove(path: Path) -> None:
    """Remove a file, if it is one."""
    with suppress(OSError):  # such as a folder of that name
        path.unlink()


@contextmanager
def locked(path: Path, refusal: str | None) -> Iterator[IO[bytes]]:
    """Lock a file against other processes until the block ends, or until this process and its children end in any way.

    Yields the file for appending and creates it if necessary. If another process holds the lock, raises `UserError`
    with the text `refusal`; without one, waits. A process whose parent waits for it, and may hold the lock, raises it.
    """
    make_folder(path.parent)
    with report_write_errors(path):
        file = path.open("ab")
    with file:
        try:
            _lock(file)
        except BlockingIOError:
            if refusal is not None:
                raise UserError(refusal) from None
            if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing asks itself
                fix = 'put its code under `if __name__ == "__main__":`'
                raise UserError(f"this process, which shares the work, runs the script anew: {fix}") from None
            print(f"Waiting for another process, which works in {path.parent}", file=sys.stderr, flush=True)
            _wait_for_lock(file)
        except OSError as error:  # some network file systems know no locks
            reason = error.strerror or error
            raise UserError(f"{path} cannot be locked ({reason}): choose a folder on another file system") from None
        yield file


def _lock(file: IO[bytes]) -> None:
    """Lock a file. Raises `BlockingIOError` if another process has locked it."""
    if sys.platform == "win32":
        file.seek(2**40)  # bytes are locked, and those that are written must stay free
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _wait_for_lock(file: IO[bytes]) -> None:
    while True:
        try:
            return _lock(file)
        except BlockingIOError:
            time.sleep(0.05)


def with_checksum(values: Mapping[str, Any]) -> bytes:
    """Plain values by their names as JSON, with its SHA-256: a note that nmt writes for itself."""
    return _as_json({**values, "sha256": hashlib.sha256(_as_json(values)).hexdigest()})


def without_checksum(content: bytes) -> dict[str, Any]:
    """The values that `with_checksum` turned into this content. Raises `ValueError` if any byte differs."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        values: dict[str, Any] = json.loads(content)
        del values["sha256"]
        if with_checksum(values) == content:
            return values
    raise ValueError("it was cut off or changed")


def _as_json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=1, ensure_ascii=False).encode()
