"""Parallel text on disk: two files whose n-th lines translate each other, and the pairs worth keeping."""

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nmt.errors import UserError

TokenPair = tuple[list[str], list[str]]


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations: `source[n]` is translated by `target[n]`."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class Skipped:
    """How many pairs were dropped: with an empty side, or else with a side longer than `max_length` tokens."""

    empty: int
    too_long: int
    max_length: int

    def __str__(self) -> str:
        total = self.empty + self.too_long
        noun = "pair" if total == 1 else "pairs"
        counts = f"{self.empty} with an empty side, {self.too_long} longer than {self.max_length} tokens"
        return f"skipped {total} {noun}: {counts}"


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 text file, plain or (by its name) `.gz`, without their ends.

    A line ends at "\\n" alone, so that U+2028, U+0085 and their like stay inside the line and can never shift
    one side of a parallel text against the other. A "\\r" before the end and a leading byte order mark are removed.

    Raises UserError if the file is missing, a folder, unreadable, empty, no valid UTF-8, or broken gzip.
    """
    data = _read_bytes(path)
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not valid UTF-8 text; save the file as UTF-8") from None
    if not text:
        raise UserError(f"{path} is empty: give a file that holds text")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def read_pairs(source_path: Path, target_path: Path) -> ParallelText:
    """The two sides of a parallel text.

    Raises UserError where `read_lines` does, and if the numbers of lines differ.
    """
    source, target = read_lines(source_path), read_lines(target_path)
    if len(source) != len(target):
        raise UserError(
            f"{source_path} has {len(source)} lines but {target_path} has {len(target)}: "
            "line n of one must be the translation of line n of the other; give two files of equal length"
        )
    return ParallelText(source, target)


def drop_unusable(pairs: Iterable[TokenPair], max_length: int) -> tuple[list[TokenPair], Skipped]:
    """The pairs whose two sides both have 1 to `max_length` tokens, in their order, and the count of the others."""
    kept: list[TokenPair] = []
    empty = too_long = 0
    for source, target in pairs:
        if not source or not target:
            empty += 1
        elif max(len(source), len(target)) > max_length:
            too_long += 1
        else:
            kept.append((source, target))
    return kept, Skipped(empty, too_long, max_length)


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: check the path") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give the path of a text file") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the path and its permissions") from None
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise UserError(f"{path} is not a complete gzip file: fetch or compress it again") from None
