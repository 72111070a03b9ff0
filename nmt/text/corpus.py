"""Parallel text on disk: two files, in which line n of one translates line n of the other."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt import addons
from nmt.system.errors import UserError
from nmt.system.files import file_digest, require_regular
from nmt.system.wording import counted
from nmt.text.normalization import normalized

GZIP = b"\x1f\x8b"  # how such a file begins
LONGEST_LINE = 1 << 24  # bytes: what decompresses without end has no longer lines
LINE_END = "\u2424"  # a line end inside a text, of which there is one per line


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations: `target[n]` translates `source[n]`."""

    source: list[str]
    target: list[str]

    @property
    def digest(self) -> str:
        """A hash of all of it, in its order."""
        return hashlib.sha256(json.dumps([self.source, self.target]).encode()).hexdigest()


@dataclass(frozen=True)
class Skipped:
    """How many pairs were dropped because a side was empty, or longer than `max_length` tokens."""

    empty: int
    too_long: int
    max_length: int

    def __str__(self) -> str:
        counts = f"{self.empty} with an empty side, {self.too_long} longer than {self.max_length} tokens"
        return f"skipped {counted(self.empty + self.too_long, 'pair')}: {counts}"


def reader_of(path: Path) -> Any:
    """The module of an add-on that reads tables, translation memories and others; None for a file of lines."""
    room = addons.offered("formats")
    return room if room is not None and room.reads(path) else None


def of_language(path: str | Path, language: str) -> Path:
    """`PATH#LANGUAGE` for a file of several languages that names none of them; the path of any other."""
    room = reader_of(path := Path(path))
    return path if room is None else room.with_column(path, language)


def text_digest(path: Path) -> tuple[bool | str, str]:
    """Whether a file is compressed, or its format and column, and a hash. Raises UserError if it cannot be read."""
    if (room := reader_of(path)) is not None:
        return room.digest(path)
    with report_read_errors(path):
        return path.suffix == ".gz", file_digest(path)


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file as `plain_lines` does, or the texts of a column or language, as in `memory.csv#de`.

    Line ends in a text are `LINE_END`; a text that is missing is "". Raises UserError as `plain_lines` does.
    """
    room = reader_of(path)
    return plain_lines(path) if room is None else room.iterate_texts(path)


def plain_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file, plain or `.gz` (by its name), without their line ends.

    Only "\\n" ends a line, so that U+2028, U+0085 and similar characters stay inside a line and can never shift one
    side of a parallel text against the other. A "\\r" before the end and a leading byte order mark are removed.

    Raises UserError if the file is missing, a folder, unreadable, empty, not valid UTF-8, or not valid gzip, and if it
    is one line in which "\\r" seems to end lines.
    """
    with report_read_errors(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(decoded_lines(file, path)):
            if number == 0 and "\r" in line[:-1] and "\n" not in line:
                raise UserError(f"{path}: its lines end with CR alone: convert it to LF, such as by tr '\\r' '\\n'")
            yield line.removesuffix("\n").removesuffix("\r")


def decoded_lines(file: Any, path: Path) -> Iterator[str]:
    """The lines of an open file, with their ends. Raises UserError as `plain_lines` does."""
    text = ""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise UserError(f"{path}, line {number}: more than {LONGEST_LINE:,} bytes: give one sentence per line")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            if number == 1 and line.startswith(GZIP):
                raise UserError(f"{path} is compressed by gzip: rename it to end in .gz") from None
            raise UserError(f"{path}, line {number}: not valid UTF-8 text; save the file as UTF-8") from None
        if text:  # a first line may be a byte order mark and nothing else
            yield text
    if not text:
        raise UserError(f"{path} is empty: give a file that holds text")


def comparable(line: str) -> str:
    """What two lines have in common that count as equal: their words, lower-cased, in one normal form."""
    return " ".join(normalized(line).lower().split())


def read_lines(path: Path) -> list[str]:
    """All lines of a text file, as `iterate_lines` yields them."""
    return list(iterate_lines(path))


def read_pairs(source_path: Path, target_path: Path, languages: Sequence[str] = ()) -> ParallelText:
    """The two sides of a parallel text; of files of several languages those of `languages`, unless the paths name some.

    Raises UserError as `iterate_lines` does, and if the files have different numbers of lines.
    """
    if languages:
        source_path, target_path = map(of_language, (source_path, target_path), languages)
    text = ParallelText(read_lines(source_path), read_lines(target_path))
    if len(text.source) != len(text.target):
        check_pairs(source_path, target_path)
    return text


def check_pairs(source_path: Path, target_path: Path) -> int:
    """The number of pairs in a parallel text, not kept in memory. Raises UserError as `read_pairs` does."""
    source, target = (sum(1 for _ in iterate_lines(path)) for path in (source_path, target_path))
    if source != target:
        counts = f"{source_path} has {source} lines but {target_path} has {target}"
        raise UserError(f"{counts}: line n of one must be the translation of line n of the other")
    return source


@contextmanager
def report_read_errors(path: Path) -> Iterator[None]:
    """Turn a system error while reading a file into a `UserError`."""
    try:
        require_regular(path)
        yield
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: check the path; relative ones start from {Path.cwd()}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give the path of a text file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{path} is not a complete gzip file: fetch or compress it again") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the path and its permissions") from None
