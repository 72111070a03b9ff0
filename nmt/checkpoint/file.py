"""How a checkpoint is stored: one safetensors file, which any program can read and which carries its own SHA-256.

A checkpoint is nested dictionaries of plain values and tensors. Its tensors are those of the file, named by their keys
with dots between them, such as `model.decoder.output.bias`. All other values are JSON in the header's metadata, under
`nmt`: `contents` are the values, `shared` maps the names of tensors that occur twice to the names they are stored by,
and `sha256` is the digest of the whole file with 64 zeros in the digest's place.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from nmt.checkpoint.address import local
from nmt.system.errors import UserError
from nmt.system.files import replace_atomically, require_regular

_BEFORE_DIGEST = rb"{\"sha256\": \""  # in the header, where quotes within the metadata are escaped
_NO_DIGEST = "0" * 64
_ZIP = b"PK"  # how a checkpoint of nmt 0.3 or older begins


class DamagedFile(UserError):
    """A file that is not what was once written: cut short, altered, or never a checkpoint."""


def write(path: Path, contents: dict[str, Any], previous: Path | None = None) -> None:
    """Write nested plain values and tensors, whole or not at all; the file before it becomes `previous`, if given."""
    tensors: dict[str, Tensor] = {}
    values = _split(contents, "", tensors)
    names: dict[tuple[Any, ...], str] = {}  # of tensors by what is the same for two of the same elements
    first = {
        name: names.setdefault((tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()), name)
        for name, tensor in tensors.items()
    }
    shared = {name: other for name, other in first.items() if name != other}
    stored = {name: tensor.detach().contiguous() for name, tensor in tensors.items() if name not in shared}
    data = save(stored, {"nmt": json.dumps({"sha256": _NO_DIGEST, "shared": shared, "contents": values})})
    start = data.index(_BEFORE_DIGEST) + len(_BEFORE_DIGEST)
    with replace_atomically(path, previous) as file:
        file.write(memoryview(data)[:start])
        file.write(hashlib.sha256(data).hexdigest().encode())
        file.write(memoryview(data)[start + len(_NO_DIGEST) :])


def _split(contents: dict[str, Any], prefix: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The plain values of nested dictionaries; their tensors are added to `tensors` by their names."""
    values = {}
    for key, value in contents.items():
        if isinstance(value, Tensor):
            tensors[f"{prefix}{key}"] = value
        else:
            values[key] = _split(value, f"{prefix}{key}.", tensors) if isinstance(value, dict) else value
    return values


def read(path: str | Path) -> dict[str, Any]:
    """The contents that `write` has stored in a file, or in the one at an address of the hub. All keys are strings.

    Raises `UserError` if there is no such file, or an older one, `DamagedFile` if it is not what `write` makes. Takes
    no more memory than a small multiple of the file's size.
    """
    path = local(path)
    data = read_bytes(path)
    if data.startswith(_ZIP):
        new = Path(path).with_suffix(".safetensors")
        raise UserError(f"{path} is a checkpoint of nmt 0.3 or older: convert it with nmt migrate {path} {new}")
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    start = 8 + header.find(_BEFORE_DIGEST) + len(_BEFORE_DIGEST)
    if _BEFORE_DIGEST not in header:
        raise DamagedFile(f"{path} is not a complete nmt checkpoint: it was cut short, or made by another program")
    digest = hashlib.sha256(memoryview(data)[:start])
    digest.update(_NO_DIGEST.encode())
    digest.update(memoryview(data)[start + len(_NO_DIGEST) :])
    if data[start : start + len(_NO_DIGEST)] != digest.hexdigest().encode():
        raise DamagedFile(f"{path} is damaged or was cut short: its checksum is wrong; use another copy")
    try:
        document = json.loads(json.loads(header)["__metadata__"]["nmt"])
        tensors = {name: tensor.clone() for name, tensor in load(data).items()}  # aligned as fast products need it
        tensors |= {name: tensors[first] for name, first in document["shared"].items()}
        contents: dict[str, Any] = document["contents"]
        if not isinstance(contents, dict):
            raise TypeError(f"its contents are of the kind {type(contents).__name__}")
        for name, tensor in tensors.items():
            _insert(contents, name, tensor)
    except Exception as error:  # of many kinds
        reason = " ".join(f"{type(error).__name__}: {error}"[:200].split())
        raise DamagedFile(f"{path} is not an nmt checkpoint: it cannot be read ({reason})") from None
    return contents


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a checkpoint's file. Raises `UserError` if it cannot be read."""
    try:
        require_regular(Path(path))
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: give a checkpoint, such as NAME/best.safetensors") from None
    except IsADirectoryError:
        bundled = Path(path) / "model.safetensors"
        example = bundled if bundled.exists() else Path(path) / "best.safetensors"
        raise UserError(f"{path} is a folder: give the checkpoint in it, such as {example}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the path and its permissions") from None
    except MemoryError:
        raise UserError(f"{path} is larger than the memory: it is not a checkpoint that nmt has written") from None


def _insert(contents: dict[str, Any], name: str, tensor: Tensor) -> None:
    """Put a tensor into the innermost of the dictionaries that its name leads through."""
    group, dot, rest = name.partition(".")
    while dot and isinstance(contents.get(group), dict):
        contents, name = contents[group], rest
        group, dot, rest = name.partition(".")
    contents[name] = tensor
