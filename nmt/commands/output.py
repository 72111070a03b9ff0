"""The output of commands that translate: lines, warnings, a progress bar, and files that continue when interrupted.

Until the last line of a file OUT is written, OUT.unfinished has the number of sentences and bytes in OUT, and the
fingerprint of what decides its content. What a killed process wrote after this note is cut off, and its sentences are
translated again, in the same blocks: the bytes of OUT are those of one run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nmt import __version__
from nmt.system import files
from nmt.system.errors import UserError, escape_controls
from nmt.system.wording import truncate
from nmt.text.corpus import LINE_END
from nmt.text.language import language_name

if TYPE_CHECKING:
    from nmt.decoding.translation import Translation

Writer: TypeAlias = Callable[[int, Sequence[str]], None]
"""Writes the lines of a block of so many sentences."""


def format_lines(translations: Sequence[Translation], first: int, options: argparse.Namespace) -> list[str]:
    """The lines of some sentences: text; JSON; or, for lists of the N best, Moses' `number ||| text ||| score`.

    `first` is the number of the first sentence, counted from 0.
    """
    if options.json:
        return [escape_controls(json.dumps(_json_object(one), ensure_ascii=False)) for one in translations]
    if options.n_best > 1:
        return [
            f"{number} ||| {t.text.replace(chr(10), ' ')} ||| {t.score:.4f}"
            for number, translation in enumerate(translations, first)
            for t in translation.n_best or (translation,)
        ]
    if options.alignment:
        return [f"{t.text} ||| {' '.join(f'{s}-{w}' for s, w in t.alignment or ())}" for t in translations]
    return [translation.text for translation in translations]


def _json_object(translation: Translation) -> dict[str, Any]:
    entry: dict[str, Any] = {name: getattr(translation, name) for name in ("text", "tokens", "source_tokens", "score")}
    entry["text"] = translation.text.replace(LINE_END, "\n")
    entry |= translation.checks
    entry["attention"] = None if translation.attention is None else translation.attention.tolist()
    entry["alignment"] = translation.alignment
    if translation.levels is not None:
        of_segments, within = translation.levels
        entry["segments"] = list(translation.segments or ())
        entry["segment_attention"], entry["word_attention"] = of_segments.tolist(), within.tolist()
    if translation.sentences:
        entry["sentences"] = [_json_object(sentence) for sentence in translation.sentences]
    if translation.n_best:
        entry["n_best"] = [_json_object(alternative) for alternative in translation.n_best]
    return entry


def warn(sentences: Sequence[str], translations: Sequence[Translation], first: int, detected: str | None) -> None:
    """Report doubtful translations on standard error. `first` is the number of the first sentence, from 0."""
    for number, (sentence, translation) in enumerate(zip(sentences, translations, strict=True), first + 1):
        doubts = translation.doubts
        if translation.is_unlike_training and detected is not None:
            doubts.append(f"it was taken for {language_name(detected)}: --from CODE sets the language")
        if doubts:
            print(f"sentence {number} ({'; '.join(doubts)}): {truncate(sentence)}", file=sys.stderr)


def print_lines(_: int, lines: Sequence[str]) -> None:
    """Write the lines of a block to standard output, immediately."""
    print("\n".join(lines), flush=True)


@contextmanager
def progress(write: Writer, total: int, done: int) -> Iterator[Writer]:
    """The same `write`, which also updates a progress bar on standard error if that is a terminal."""
    from tqdm import tqdm

    with tqdm(total=total, initial=done, unit=" lines", file=sys.stderr, disable=None) as bar:

        def write_and_update(sentences: int, lines: Sequence[str]) -> None:
            with tqdm.external_write_mode(file=sys.stdout):  # the bar makes way for lines in the same terminal
                write(sentences, lines)
            bar.update(sentences)

        yield write_and_update


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

    `made_by` is the fingerprint. Raises `UserError` if the file exists and `resume` is False, if it has another
    fingerprint, or if it cannot be written. A file that does not exist is created, with `resume` too.
    """
    note = note_path(path)
    is_new = not note.exists()
    done, size = _read_note(path, note, made_by, resume)
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
            content = {"sentences": done, "bytes": file.tell(), "made_by": dict(made_by)}
            files.write(note, files.with_checksum(content))

        try:
            write(0, [])
            yield done, write
        except (UserError, OSError):
            if is_new and done == 0:  # nothing was written: leave nothing in the way of the next try
                note.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
            raise
        except KeyboardInterrupt:
            print("\nTo continue, repeat the command with --resume.", end="", file=sys.stderr)
            raise
    note.unlink()


def _read_note(path: Path, note: Path, made_by: Mapping[str, Any], resume: bool) -> tuple[int, int]:
    """The number of sentences and bytes that are complete, 0 for a new file. Raises `UserError` as described above."""
    if not path.name or path.is_dir():
        raise UserError(f"{path} is a folder: give --output the name of a file")
    if path.suffix == ".gz":
        raise UserError(f"{path}: the text is written uncompressed: leave out .gz")
    if (path.exists() or note.exists()) and not resume:
        remedy = "add --resume to continue it" if note.exists() else "remove it"
        raise UserError(f"{path} already exists: {remedy}, or choose another --output")
    if not note.exists():
        if path.exists() and path.stat().st_size:
            reason = f"there is no {note.name}"
            raise UserError(f"{path} has nothing to resume ({reason}): it is complete, or nmt did not write it")
        return 0, 0
    try:
        content = files.without_checksum(note.read_bytes())
        counts, before = (content["sentences"], content["bytes"]), content["made_by"]
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"{note} cannot be read: remove it and {path}, then start over") from None
    for name in made_by.keys() | before.keys():
        if before.get(name) != made_by.get(name):
            repeat = "repeat the first command and add --resume"
            remove = f"remove {path} and {note.name} to start over"
            raise UserError(f"{path} was started with a different {name}: {repeat}, or {remove}")
    return counts
