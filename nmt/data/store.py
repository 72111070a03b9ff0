"""Training pairs as ids on disk: text is tokenised once, and an epoch reads of it what the next batch needs.

A store is a folder of raw arrays, `NAME.DTYPE`, which are memory-mapped, so that a corpus may be larger than the
memory. Its name is a hash of all that decides its content (text, settings, code, versions of libraries), so that it is
never out of date. It is built under a temporary name, by one run at a time, and renamed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.system.errors import UserError
from nmt.system.files import file_digest, locked, make_folder, report_write_errors, with_checksum, without_checksum

META, LOCK = "meta.json", ".lock"


@dataclass(frozen=True)
class Rows:
    """Sequences of unequal length, one after the other in `values`."""

    values: NDArray[Any]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        return self.lengths.cumsum(dtype=np.int64)

    def __getitem__(self, row: int) -> NDArray[Any]:
        end = self.ends[row]
        return self.values[end - self.lengths[row] : end]


@dataclass(frozen=True)
class Store:
    """A store's arrays by their names, and a mapping of plain values."""

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]

    @cached_property
    def rows(self) -> dict[str, Rows]:
        """The sequences: the arrays beside which there is one of lengths, `NAME_lengths`."""
        lengths = {name: self.arrays.get(f"{name}_lengths") for name in self.arrays}
        return {name: Rows(self.arrays[name], of_name) for name, of_name in lengths.items() if of_name is not None}


def open_store(path: Path, *, quiet: bool = False) -> Store | None:
    """The store in a folder, or None if there is none. A damaged one counts as none, with a message unless `quiet`."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        meta = without_checksum((path / META).read_bytes())
        for name, digest in meta["digests"].items():
            if file_digest(path / name) != digest:
                raise ValueError(f"{name} has changed")
            array, _, dtype = name.partition(".")
            is_empty = (path / name).stat().st_size == 0  # and cannot be mapped
            content = np.empty(0, np.uint8) if is_empty else np.memmap(path / name, mode="r")
            arrays[array] = content.view(dtype)  # which refuses Python objects
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        if not quiet:
            print(f"{path} cannot be read ({' '.join(str(error).split())}): building it again", file=sys.stderr)
        return None
    return Store(arrays, meta)


def build_store(path: Path, fill: Callable[[Path], dict[str, Any]]) -> Store:
    """The store of the arrays and values that `fill` makes in a folder. Another run that builds it is waited for."""
    with locked(path.parent / LOCK, None):
        if (store := open_store(path, quiet=True)) is not None:
            return store
        for abandoned in path.parent.glob(".pairs-*"):  # by processes that were killed
            shutil.rmtree(abandoned, ignore_errors=True)
        folder = path.with_name(f".{path.name}")
        make_folder(folder)
        try:
            with report_write_errors(path):
                meta = fill(folder)
                digests = {file.name: file_digest(file) for file in sorted(folder.iterdir())}
                (folder / META).write_bytes(with_checksum(meta | {"digests": digests}))
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)  # of a file with that name
                folder.rename(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    store = open_store(path)
    if store is None:
        raise UserError(f"{path} was deleted while it was in use: run again")
    return store


def append(folder: Path, name: str, values: NDArray[Any]) -> None:
    """Append values to an array. They are written, not mapped: a full disk is then an error, and not a crash."""
    with (folder / f"{name}.{values.dtype}").open("ab") as file:
        file.write(values.tobytes())
