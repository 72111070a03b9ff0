"""The two sides of the corpus: their paths, their languages, and their pairs in blocks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

from nmt.clean.blocks import Pair
from nmt.system.errors import UserError
from nmt.text.corpus import iterate_lines, of_language
from nmt.text.language import base_language, code_meant, language_name

BLOCK = 5000  # pairs that a process gets at once
FEWEST = 100  # pairs that the ratio of lengths is estimated from
_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_COMPRESSED = re.compile(r"\.(gz|xz|zst)$")


def sides_of(files: Sequence[Path], languages: Sequence[str] | None) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """The paths of source and target, and their languages: those given, or those that end the names of two files.

    One file has both sides. Raises `UserError` if the languages are unusable, or if nothing here reads such a file.
    """
    if len(files) == 1 and languages is None:
        raise UserError(f"{files[0]}: name its languages, such as --languages en de, or give two files")
    source, target = (code.replace("_", "-") for code in languages or map(_language_in, files))
    for code in (source, target):
        if not _CODE.fullmatch(code):
            meant = code_meant(code.lower()) or "de"
            raise UserError(f"--languages: {code!r} is not a language code: use one such as {meant}")
    if source.lower() == target.lower():
        raise UserError(f"--languages: both sides are {source}: give two languages")
    first, last = (of_language(path, code) for path, code in ((files[0], source), (files[-1], target)))
    if first == last:
        raise UserError(f"{first}: both sides are in no such file: give two files, or a table or translation memory")
    return (first, last), (source, target)


def _language_in(path: Path) -> str:
    """The code of a language that ends a path, behind `#` or as its suffix."""
    name = path.name.rpartition("#")[2] if "#" in path.name else Path(_COMPRESSED.sub("", path.name)).suffix[1:]
    base = base_language(name)
    if language_name(base) == base:
        raise UserError(f"{path}: its name does not end in a language: add --languages, such as --languages en de")
    return name


def blocks(paths: tuple[Path, Path]) -> Iterator[list[Pair]]:
    """The pairs of two files with the same number of lines."""
    pairs = zip(*map(iterate_lines, paths), strict=True)
    numbered = (Pair(line, source, target) for line, (source, target) in enumerate(pairs, start=1))
    while block := list(islice(numbered, BLOCK)):
        yield block


def ratio_of(pairs: Sequence[Pair]) -> float:
    """How many characters a target has for each of its source: the median, and 1 for few pairs."""
    both = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    if len(both) < FEWEST:
        return 1.0
    return math.exp(median(math.log(len(pair.target) / len(pair.source)) for pair in both))
