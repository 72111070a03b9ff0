"""Files as bytes, decompressed as they are read: .gz, .xz, .zst."""

from __future__ import annotations

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from nmt.system.errors import UserError
from nmt.text.corpus import report_read_errors

CHUNK = 1 << 16  # bytes


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The open file, decompressed. Raises `UserError` if it cannot be read, also in the block."""
    package: Any = {".gz": gzip, ".xz": lzma}.get(path.suffix)
    if path.suffix == ".zst":
        package = extra("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd", path)
    broken = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, getattr(package, "ZstdError", EOFError))
    with report_read_errors(path):
        try:
            with package.open(path) if package else path.open("rb") as file:
                yield file
        except broken:
            message = f"{path} is not a complete {path.suffix[1:]} file: fetch or compress it again"
            raise UserError(message) from None


def extra(module: str, path: object, name: str = "formats") -> Any:
    """A module of an optional package. Raises `UserError` where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        install = f"run pip install -e '.[{name}]' in the folder of nmt"
        raise UserError(f"{path} needs the package {module}: {install}") from None
