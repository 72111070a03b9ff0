"""A file of translations that grows over hours, and goes on after an interruption as if there had been none.

Beside OUT lies OUT.unfinished until the last line is written: a note of how many sentences are in OUT, of its size at
that moment, and of what decided its content. What a killed process wrote after the note is cut off, and its sentences
are translated again, in the same blocks: the bytes of OUT are those of an undisturbed run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from nmt import __version__
from nmt.system import files
from nmt.system.checksum import with_checksum, without_checksum
from nmt.system.errors import UserError

Writer = Callable[[int, Sequence[str]], None]


def decisive(
    options: argparse.Namespace, names: Iterable[str], read: Mapping[str, Iterable[Path]], lines: Iterable[str]
) -> dict[str, Any]:
    """Plain values of all that decides an output: some options, the files that are read, the text, the version."""
    text = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    digests = {name: [_digest(path) for path in paths] for name, paths in read.items()}
    chosen = {f"--{name.replace('_', '-')}": getattr(options, name) for name in names}
    return {"version of nmt": __version__, "--input": text, **digests, **chosen}


def _digest(path: Path) -> str:
    try:
        files.require_regular(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""  # whoever loads it says what is wrong


def note_of(path: Path) -> Path:
    """Where the note beside a file lies."""
    return path.with_name(f"{path.name}.unfinished")


@contextmanager
def growing(path: Path, made_by: Mapping[str, Any], *, resume: bool) -> Iterator[tuple[int, Writer]]:
    """How many sentences a file holds already, and what writes the lines of some more, on disk before it returns.

    `made_by` are names and plain values (as JSON has them) of all that decides the file's content.

    Raises `UserError` if the file exists and `resume` is False, if it was made by something else, or if it cannot be
    written. A file that does not exist is begun, also with `resume`.
    """
    if not path.name or path.is_dir():
        raise UserError(f"{path} is a folder: give --output the name of a file")
    if path.suffix == ".gz":
        raise UserError(f"{path}: the text is written uncompressed: leave out .gz")
    note = note_of(path)
    is_new = not (path.exists() or note.exists())
    if not resume and not is_new:
        raise UserError(
            f"{path} already exists: add --resume to continue it, or choose another --output"
            if note.exists()
            else f"{path} already exists: choose another --output, or remove it"
        )
    done, size = _noted(path, made_by)
    with files.locked(
        path, f"{path} is being written by another process: wait for it, or choose another --output"
    ) as file:
        _cut(file, path, size)

        def write(sentences: int, lines: Sequence[str]) -> None:
            nonlocal done
            with files.report_write_errors(path):
                file.write("".join(f"{line}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
            done += sentences
            _write_note(path, made_by, done, file.tell())

        try:
            _write_note(path, made_by, done, size)
            yield done, write
        except UserError:
            if is_new and done == 0:  # refused before the first line: leave nothing in the way of the next try
                note.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
            raise
    note.unlink()


@contextmanager
def explaining_a_stop() -> Iterator[None]:
    """After Ctrl-C, say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        print("\nTo continue, repeat the command with --resume.", end="", file=sys.stderr)
        raise


def _write_note(path: Path, made_by: Mapping[str, Any], sentences: int, size: int) -> None:
    note = {"sentences": sentences, "bytes": size, "made_by": dict(made_by)}
    files.write(note_of(path), with_checksum(note))


def _noted(path: Path, made_by: Mapping[str, Any]) -> tuple[int, int]:
    """The sentences and bytes that are in a file for good, if it was made in the same way."""
    note = note_of(path)
    if not note.exists():
        if path.exists() and path.stat().st_size:
            raise UserError(
                f"{path} has nothing to resume (there is no {note.name}): it is complete, or nmt did not write it"
            )
        return 0, 0
    try:
        noted = without_checksum(note.read_bytes())
        sentences, size, before = noted["sentences"], noted["bytes"], dict(noted["made_by"])
        if not all(type(number) is int and number >= 0 for number in (sentences, size)):
            raise ValueError("no numbers of sentences and bytes")
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"{note} cannot be read: remove it and {path}, then start over") from None
    for name in made_by.keys() | before.keys():
        if before.get(name) != made_by.get(name):
            raise UserError(
                f"{path} was begun with a different {name}: repeat the first command and add --resume, "
                f"or remove {path} and {note.name} to start over"
            )
    return sentences, size


def _cut(file: IO[bytes], path: Path, size: int) -> None:
    """Remove what was written after the note."""
    if os.fstat(file.fileno()).st_size < size:
        raise UserError(
            f"{path} is shorter than when it was written: remove it and {note_of(path).name}, then start over"
        )
    with files.report_write_errors(path):
        file.truncate(size)
        file.seek(0, os.SEEK_END)
