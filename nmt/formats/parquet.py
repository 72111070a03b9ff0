"""Parquet, by pyarrow: the texts of a column, a few thousand rows at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from nmt.formats.columns import choose
from nmt.formats.opening import extra, opened
from nmt.formats.paths import COMPRESSED, Address
from nmt.system.errors import UserError

ROWS = 4096


def texts(address: Address, path: Path | None = None) -> Iterator[str]:
    """The texts of a column, which may be in a struct, such as translation.de; "" for null. Raises `UserError`.

    `path` is the file, by default that of the address.
    """
    path = path or address.path
    arrow, parquet = extra("pyarrow", address), extra("pyarrow.parquet", address)
    with opened(path) as file, TemporaryFile() as copy:
        if is_compressed := path.suffix in COMPRESSED:  # Parquet is read from its end
            shutil.copyfileobj(file, copy)
        try:
            yield from _texts(address, parquet.ParquetFile(copy if is_compressed else file), arrow)
        except (arrow.ArrowException, OSError, ValueError) as error:
            reason = f"not a complete Parquet file ({error})"
            raise UserError(f"{address}: {reason}: fetch or write it again") from None


def _texts(address: Address, file: Any, arrow: Any) -> Iterator[str]:
    columns = [file.schema.column(n) for n in range(len(file.schema))]
    columns = [column for column in columns if column.max_repetition_level == 0]  # no lists
    names = [column.path for column in columns if column.logical_type.type == "STRING"]
    name = names[choose(address, names)]
    for batch in file.iter_batches(ROWS, columns=[name]):
        table = arrow.Table.from_batches([batch])
        while arrow.types.is_struct(table.schema.field(0).type):
            table = table.flatten()
        for text in table.column(0).to_pylist():
            yield text or ""
