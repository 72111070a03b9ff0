"""Training pairs as ids on disk: text is tokenised once, and an epoch reads of it what the next batch needs.

A store is a folder of plain NumPy arrays, which are memory-mapped, so that a corpus may be larger than the memory. Its
name is a hash of all that decides its content: the text, the settings, the code and the versions of the libraries that
it uses. So a store is never out of date, and any store may be deleted. It is built under a temporary name, by one run
at a time, and renamed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.system.errors import UserError
from nmt.system.files import locked, make_folder, report_write_errors, with_checksum, without_checksum

META, LOCK = "meta.json", ".lock"


@dataclass(frozen=True)
class Rows:
    """Sequences of unequal length, one after the other in `values`; the n-th one ends before `ends[n]`."""

    values: NDArray[Any]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.ends[row - 1] if row else 0 : self.ends[row]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.diff(self.ends, prepend=0).astype(np.int32)


@dataclass(frozen=True)
class Store:
    """A store's arrays by their names, and a mapping of plain values."""

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]

    def rows(self, name: str) -> Rows:
        return Rows(self.arrays[name], self.arrays[f"{name}_ends"])


def open_store(path: Path, *, quiet: bool = False) -> Store | None:
    """The store in a folder, or None if there is none. A damaged one counts as none, with a message unless `quiet`."""
    try:
        meta = without_checksum((path / META).read_bytes())
        for name, digest in meta["digests"].items():
            if file_digest(path / name) != digest:
                raise ValueError(f"{name} has changed")
        arrays = {name.removesuffix(".npy"): np.load(path / name, mmap_mode="r") for name in meta["digests"]}
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if not quiet:
            print(f"{path} cannot be read ({' '.join(str(error).split())}): building it again", file=sys.stderr)
        return None
    return Store(arrays, meta)


@contextmanager
def building_folder(path: Path) -> Iterator[Path]:
    """A new folder to build the store in. Until the block ends, other runs wait to build theirs."""
    with locked(path.parent / LOCK, None):
        for abandoned in path.parent.glob(".pairs-*"):  # by processes that were killed
            shutil.rmtree(abandoned, ignore_errors=True)
        folder = path.with_name(f".{path.name}")
        make_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep_store(building: Path, path: Path, meta: dict[str, Any]) -> Store:
    """Complete a `building_folder`, move it to `path`, where there is no readable store, and return the store."""
    digests = {file.name: file_digest(file) for file in sorted(building.glob("*.npy"))}
    with report_write_errors(path):
        with (building / META).open("wb") as file:
            file.write(with_checksum(meta | {"digests": digests}))
            file.flush()
            os.fsync(file.fileno())
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)  # of a file with that name
        building.rename(path)
    store = open_store(path)
    if store is None:
        raise UserError(f"{path} was deleted while it was in use: run again")
    return store


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
