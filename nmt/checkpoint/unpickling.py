"""Reads what `torch.save` writes for plain values and dense tensors, and nothing else, whoever made the file.

`torch.load(weights_only=True)` runs no code of the file, but it also builds what can bring a process down: tensors of
no size that claim gigabytes (stride 0), storages that claim more bytes than the file has, sparse, nested and quantised
tensors. Here only the instructions and names below are known, and a tensor is made only of bytes that are in the file.
"""

from __future__ import annotations

import io
import math
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

_STORAGES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_INSTRUCTIONS = (
    "PROTO STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE EMPTY_TUPLE TUPLE TUPLE1 "
    "TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS BINPUT LONG_BINPUT BINGET LONG_BINGET "
    "GLOBAL REDUCE BINPERSID"
)
_DEPTH = 20  # of values within values


class _Storage(NamedTuple):
    values: Tensor  # one-dimensional


def unpickle(data: memoryview) -> Any:
    """The value in an archive of `torch.save`, on the CPU.

    Raises `ValueError` or one of the exceptions of `pickle` and `zipfile` for anything else; takes no more memory than
    a small multiple of the archive's size.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("it is compressed")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("its parts are larger than the file")
        [pickled] = [entry.filename for entry in entries if entry.filename.endswith("/data.pkl")]
        folder = pickled.removesuffix("data.pkl")
        if f"{folder}byteorder" in archive.namelist():
            order = archive.read(f"{folder}byteorder").decode("ascii")
            if order != sys.byteorder:
                raise ValueError(f"it was written by a machine with {order}-endian numbers")
        value = _Unpickler(archive, folder).load()
    _check(value, len(data))
    return value


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler in Python, without the instructions that `torch.save` never writes for plain values.

    The one in C would allocate as many gigabytes as an instruction asks for.
    """

    dispatch: ClassVar = {
        code[0]: pickle._Unpickler.dispatch[code[0]]
        for code in (getattr(pickle, name) for name in _INSTRUCTIONS.split())
    }

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}data.pkl")))
        self._archive = archive
        self._folder = folder
        self._storages: dict[tuple[str, torch.dtype], _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        match module, name:
            case "collections", "OrderedDict":
                return OrderedDict
            case "torch._utils", "_rebuild_tensor_v2":
                return _dense_tensor
            case "torch", name if name in _STORAGES:
                return _STORAGES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    def persistent_load(self, pid: Any) -> _Storage:
        """The numbers of a storage: all that its part of the archive holds, whatever their number is said to be."""
        kind, dtype, key, _, _ = pid
        if kind != "storage" or not isinstance(dtype, torch.dtype) or not isinstance(key, str):
            raise pickle.UnpicklingError("it refers to something other than a storage")
        if (key, dtype) not in self._storages:
            if any(name == key for name, _ in self._storages):
                raise pickle.UnpicklingError("one storage holds numbers of two types")
            content = np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), dtype=np.uint8)
            values = torch.empty(len(content), dtype=torch.uint8)  # PyTorch's own memory: aligned as products need it
            values.numpy()[:] = content
            self._storages[key, dtype] = _Storage(values.view(dtype))
        return self._storages[key, dtype]


def _dense_tensor(storage: _Storage, offset: int, size: Sequence[int], stride: Sequence[int], *_: Any) -> Tensor:
    """A tensor that is a part of the storage, each of its elements a number of its own."""
    if not isinstance(storage, _Storage) or not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)):
        raise pickle.UnpicklingError("a tensor without a storage or a shape")
    if len(size) != len(stride):
        raise pickle.UnpicklingError("a tensor with other strides than its shape needs")
    count = math.prod(size)
    if offset + count > len(storage.values):
        raise pickle.UnpicklingError("a tensor that is larger than its storage")
    if count:
        expected = 1  # a dimension after the other, the innermost first
        for step, length in sorted((step, length) for step, length in zip(stride, size, strict=True) if length > 1):
            if step != expected:
                raise pickle.UnpicklingError("a tensor that is not dense")
            expected *= length
    return torch.as_strided(storage.values, tuple(size), tuple(stride), offset)


def _check(value: Any, limit: int, depth: int = 0) -> int:
    """How many values there are in a value.

    Raises `ValueError` if they are more than the file has bytes (`limit`), or lie too deep, as they do in a value that
    holds itself, or in a list of ten times the same list of ten times the same list ….
    """
    if isinstance(value, _Storage | torch.dtype) or callable(value):
        raise ValueError(f"it holds {value}")
    count = 1
    if isinstance(value, dict | list | tuple):
        if depth == _DEPTH:
            raise ValueError(f"its values lie more than {_DEPTH} deep in others")
        items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        for item in items:
            count += _check(item, limit - count, depth + 1)
    if count > limit:
        raise ValueError("it repeats its values without end")
    return count
