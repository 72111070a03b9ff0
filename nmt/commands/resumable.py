"""Resumable output: a file of translations that grows over hours and continues after an interruption.

Beside OUT lies OUT.unfinished until the last line is written: a note with the number of sentences in OUT, its size at
that moment, and the fingerprint of what decides its content. What a killed process wrote after the note is cut off, and
its sentences are translated again, in the same blocks: the bytes of OUT are those of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmt import __version__
from nmt.system import files
from nmt.system.checksum import with_checksum, without_checksum
from nmt.system.errors import UserError

Writer = Callable[[int, Sequence[str]], None]


def fingerprint(
    options: argparse.Namespace, names: Iterable[str], paths: Mapping[str, Iterable[Path]], lines: Iterable[str]
) -> dict[str, Any]:
    """Plain values of all that decides an output: some options, hashes of files and of the text, the version."""
    text = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    digests = {name: [_digest(path) for path in group] for name, group in paths.items()}
    values = {f"--{name.replace('_', '-')}": getattr(options, name) for name in names}
    return {"version of nmt": __version__, "--input": text, **digests, **values}


def _digest(path: Path) -> str:
    try:
        files.require_regular(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""  # loading it reports what is wrong


def note_path(path: Path) -> Path:
    """The path of the note beside an output."""
    return path.with_name(f"{path.name}.unfinished")


@contextmanager
def resumable_output(path: Path, made_by: Mapping[str, Any], *, resume: bool) -> Iterator[tuple[int, Writer]]:
    """The number of sentences in a file, and a function that appends the lines of more and flushes them to disk.

    `made_by` is the fingerprint. After Ctrl-C a line on standard error says how to continue.

    Raises `UserError` if the file exists and `resume` is False, if it has another fingerprint, or if it cannot be
    written. A file that does not exist is created, with `resume` too.
    """
    if not path.name or path.is_dir():
        raise UserError(f"{path} is a folder: give --output the name of a file")
    if path.suffix == ".gz":
        raise UserError(f"{path}: the text is written uncompressed: leave out .gz")
    note = note_path(path)
    is_new = not (path.exists() or note.exists())
    if not resume and not is_new:
        remedy = "add --resume to continue it, or choose another --output"
        raise UserError(
            f"{path} already exists: {remedy if note.exists() else 'choose another --output, or remove it'}"
        )
    done, size = _read_note(path, made_by)
    with files.locked(path, f"{path} is being written by another process: wait, or choose another --output") as file:
        if os.fstat(file.fileno()).st_size < size:
            raise UserError(f"{path} is shorter than when it was written: remove it and {note.name}, then start over")
        with files.report_write_errors(path):
            file.truncate(size)
            file.seek(0, os.SEEK_END)

        def write(sentences: int, lines: Sequence[str]) -> None:
            nonlocal done
            with files.report_write_errors(path):
                file.write("".join(f"{line}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
            done += sentences
            _write_note(note, made_by, done, file.tell())

        try:
            _write_note(note, made_by, done, size)
            yield done, write
        except UserError:
            if is_new and done == 0:  # nothing was written: leave nothing in the way of the next try
                note.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
            raise
        except KeyboardInterrupt:
            print("\nTo continue, repeat the command with --resume.", end="", file=sys.stderr)
            raise
    note.unlink()


def _write_note(note: Path, made_by: Mapping[str, Any], sentences: int, size: int) -> None:
    files.write(note, with_checksum({"sentences": sentences, "bytes": size, "made_by": dict(made_by)}))


def _read_note(path: Path, made_by: Mapping[str, Any]) -> tuple[int, int]:
    """The number of sentences and bytes that are complete, 0 for a new file. Raises `UserError` as described above."""
    note = note_path(path)
    if not note.exists():
        if path.exists() and path.stat().st_size:
            raise UserError(
                f"{path} has nothing to resume (there is no {note.name}): it is complete, or nmt did not write it"
            )
        return 0, 0
    try:
        content = without_checksum(note.read_bytes())
        counts, before = (content["sentences"], content["bytes"]), dict(content["made_by"])
        if not all(type(number) is int and number >= 0 for number in counts):
            raise ValueError("not a number of sentences and bytes")
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"{note} cannot be read: remove it and {path}, then start over") from None
    for name in made_by.keys() | before.keys():
        if before.get(name) != made_by.get(name):
            raise UserError(
                f"{path} was started with a different {name}: repeat the first command and add --resume, "
                f"or remove {path} and {note.name} to start over"
            )
    return counts
