"""What a path names: a file or data set, how it is written and compressed, and after `#` a column or language of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

COMPRESSED = (".gz", ".xz", ".zst")
_FORMATS = {
    "tables": (".csv", ".tsv"),
    "json_lines": (".jsonl", ".ndjson"),
    "xml_units": (".tmx", ".xlf", ".xliff"),
    "catalogues": (".po", ".pot", ".mo"),
    "parquet": (".parquet",),
}
KINDS = {suffix: kind for kind, suffixes in _FORMATS.items() for suffix in suffixes}
HUB = re.compile(r"hf:/+datasets/")  # a Path has one slash of the two
MTDATA = "mtdata:"


@dataclass(frozen=True)
class Address:
    """`path#column`. `kind` is the module that reads it, or "lines"; `suffix` that of the format, such as .csv."""

    path: Path
    column: str | None
    kind: str
    suffix: str = ""

    def __str__(self) -> str:
        return HUB.sub("hf://datasets/", self.path.as_posix()) if self.kind == "hub" else str(self.path)

    def of(self, column: str) -> str:
        """How to write this address with a column."""
        return f"{self}#{column}"


def parse(path: Path) -> Address | None:
    """The address that a path is, or None for the path of a plain file of lines.

    A file that exists under the whole name, `#` included, is that file.
    """
    text = path.as_posix()
    base, mark, column = text.rpartition("#")
    if mark and not path.exists() and (address := _address(base, column or None)) is not None:
        return address
    return _address(text, None)


def _address(text: str, column: str | None) -> Address | None:
    if HUB.match(text):
        return Address(Path(text), column, "hub")
    if text.startswith(MTDATA):
        return Address(Path(text), column, "corpora")
    path = Path(text)
    inner = Path(path.stem) if path.suffix in COMPRESSED else path
    if inner.suffix.lower() in KINDS:
        return Address(path, column, KINDS[inner.suffix.lower()], inner.suffix.lower())
    return Address(path, column, "lines") if path.suffix in (".xz", ".zst") else None
