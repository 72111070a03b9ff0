"""The config field `data.protect`, and what it does to training and validation text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from nmt.constraints import protect
from nmt.system.files import replace_atomically
from nmt.text.corpus import check_pairs, iterate_lines, text_digest

if TYPE_CHECKING:
    from nmt.config.data import DataConfig


def _valid(value: Any) -> Any:
    if value is not None:
        protect.compiled(value)
    return value


Protect = Annotated[bool | tuple[str, ...] | None, AfterValidator(_valid)]


def masked(patterns: protect.Patterns, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of lines, with masks for the spans that are on both sides."""
    compiled = protect.expressions(patterns)
    return (protect.mask_pair(source, target, compiled) for source, target in pairs)


def masked_files(config: DataConfig, source: Path, target: Path) -> tuple[Path, Path]:
    """Copies of two files with masks, which `data.folder/cache` keeps from one run to the next.

    Raises `UserError` as `check_pairs` does.
    """
    check_pairs(source, target)
    digest = hashlib.sha256(repr([config.protect, protect.PATTERNS, Path(protect.__file__).read_bytes()]).encode())
    for path in (source, target):
        digest.update(repr(text_digest(path)).encode())
    folder = Path(config.folder) / "cache"
    copies = [folder / f"masked-{digest.hexdigest()[:32]}.{side}" for side in ("source", "target")]
    if not all(copy.exists() for copy in copies):
        with replace_atomically(copies[0]) as first, replace_atomically(copies[1]) as second:
            for lines in masked(config.protect, zip(iterate_lines(source), iterate_lines(target), strict=True)):
                for file, line in zip((first, second), lines, strict=True):
                    file.write((line + "\n").encode())
    return copies[0], copies[1]
