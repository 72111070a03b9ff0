"""How a checkpoint is stored: a file of `torch.save` that carries its own SHA-256.

`torch.save` writes a zip archive, and a zip archive may end with a comment: it is the checksum of all bytes before it.
Any other program still reads the file with `torch.load`.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from nmt.checkpoint.address import local
from nmt.checkpoint.unpickling import unpickle
from nmt.system.errors import UserError
from nmt.system.files import replace_atomically, require_regular

_MARK = b"sha256:"
_COMMENT = len(_MARK) + 64  # bytes


class DamagedFile(UserError):
    """A file that is not what was once written: cut short, altered, or never a checkpoint."""


def write(path: Path, contents: dict[str, Any], kept: Path | None = None) -> None:
    """Write plain values and tensors so that `path` holds, at any moment, the old file or the new one whole.

    The old file is then found under the name `kept`, if one is given.
    """
    buffer = io.BytesIO()
    torch.save(contents, buffer)
    buffer.seek(-2, io.SEEK_END)  # an archive without a comment ends with the comment's length: two bytes
    buffer.write(_COMMENT.to_bytes(2, "little"))
    with replace_atomically(path, kept) as file:
        file.write(buffer.getbuffer())
        file.write(_MARK + hashlib.sha256(buffer.getbuffer()).hexdigest().encode())


def read(path: str | Path) -> dict[str, Any]:
    """What `write` has written there; of an address of the hub, what it holds.

    Raises `UserError` if there is no such file, `DamagedFile` if its checksum is wrong or missing, or if it holds
    anything but plain values and dense tensors. Nothing in the file is run, whatever it holds.
    """
    path = local(path)
    try:
        require_regular(Path(path))
        data = memoryview(Path(path).read_bytes())
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: give the path of a checkpoint, such as checkpoints/NAME/best.pt"
        ) from None
    except IsADirectoryError:
        name = "model.pt" if (Path(path) / "model.pt").exists() else "best.pt"  # as bundled, or as trained
        raise UserError(f"{path} is a folder: give the checkpoint in it, such as {Path(path) / name}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the path and its permissions") from None
    except MemoryError:
        raise UserError(f"{path} is larger than the memory: it is not a checkpoint that nmt has written") from None
    body, comment = data[:-_COMMENT], bytes(data[-_COMMENT:])
    if not comment.startswith(_MARK):
        raise DamagedFile(f"{path} is not a complete nmt checkpoint: it was cut short, or made by another program")
    if comment.removeprefix(_MARK) != hashlib.sha256(body).hexdigest().encode():
        raise DamagedFile(f"{path} is damaged: its checksum is wrong; use another copy")
    try:
        contents = unpickle(data)
    except Exception as error:  # of many kinds
        said = " ".join(f"{type(error).__name__}: {error}"[:200].split())
        raise DamagedFile(f"{path} is not an nmt checkpoint: it cannot be read ({said})") from None
    if not isinstance(contents, dict):
        raise DamagedFile(f"{path} is not an nmt checkpoint: it holds a {type(contents).__name__}")
    return contents
