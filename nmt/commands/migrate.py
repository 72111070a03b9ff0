"""nmt migrate: convert checkpoints of nmt 0.3 or older, which are archives of `torch.save`.

Nothing else reads such files. Delete this file, its line in `nmt.cli` and tests/checkpoint/test_migrate.py, and the
rest of nmt stays as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt.commands.options import Parser
from nmt.system import files
from nmt.system.errors import UserError

FORMATS = (2, 3)  # those of nmt 0.1 and 0.2, and of 0.3
_MARK = b"sha256:"  # a digest of all bytes before it ends the file


def parser() -> Parser:
    parser = Parser(
        prog="nmt migrate",
        description="Convert a checkpoint of nmt 0.3 or older (.pt) to the present format (.safetensors). Training can "
        "be resumed from it. If OLD is the folder of a run, all its checkpoints are converted: into "
        "the new folder NEW, with copies of its other files, or in place if NEW is the same folder.",
    )
    parser.add_argument("old", type=Path, metavar="OLD", help="a checkpoint (.pt), or the folder of a run")
    parser.add_argument("new", type=Path, metavar="NEW", help="the file to write (.safetensors), or a folder")
    return parser


def run(options: argparse.Namespace) -> int:
    """Convert. Raises `UserError` if a checkpoint cannot be read, or a file that would be written exists."""
    old, new = options.old, options.new
    if not old.is_dir():
        _convert(old, new)
        return 0
    paths = sorted(old.glob("*.pt"))
    if not paths:
        raise UserError(f"{old} has no checkpoint of nmt 0.3 or older: give a file that ends in .pt, or its folder")
    if new.resolve() != old.resolve():
        files.require_new(new, "NEW")
        shutil.copytree(old, new, ignore=shutil.ignore_patterns("*.pt"))
    for path in paths:
        _convert(path, new / f"{path.stem}.safetensors")
    return 0


def _convert(old: Path, new: Path) -> None:
    files.require_new(new, "NEW")

    import torch

    from nmt.checkpoint import contents as checkpoint
    from nmt.checkpoint import file as checkpoint_file

    contents = _upgraded(_unpickled(old), str(old))
    loaded = checkpoint.parse(contents, str(old), torch.device("cpu"))
    checkpoint_file.write(new, contents | {"config": loaded.config.model_dump(mode="json")})
    print(f"Written: {new} ({new.stat().st_size / 1e6:.1f} MB)")


def _unpickled(path: Path) -> dict[str, Any]:
    """The contents of an old file: plain values and dense tensors. No code in the file is run."""
    import torch

    from nmt.checkpoint.file import DamagedFile, read_bytes

    data = read_bytes(path)
    body, mark, digest = data.rpartition(_MARK)
    if not mark or len(digest) != 64:
        raise DamagedFile(f"{path} is not a complete checkpoint of nmt 0.3 or older: give another copy of a .pt file")
    if digest != hashlib.sha256(body).hexdigest().encode():
        raise DamagedFile(f"{path} is damaged: its checksum is wrong; use another copy")
    try:
        contents = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        for tensor in _tensors(contents):
            is_dense = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
            if not is_dense or tensor.nbytes > len(data):
                raise ValueError("a tensor that is not dense")
    except Exception as error:  # of many kinds
        reason = " ".join(f"{type(error).__name__}: {error}"[:200].split())
        raise DamagedFile(f"{path} is not an nmt checkpoint: it cannot be read ({reason})") from None
    if not isinstance(contents, dict):
        raise DamagedFile(f"{path} is not an nmt checkpoint: it holds a {type(contents).__name__}")
    return contents


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in nested dictionaries and lists."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _upgraded(contents: dict[str, Any], path: str) -> dict[str, Any]:
    """The same contents in the present format."""
    from nmt.checkpoint.contents import FORMAT
    from nmt.checkpoint.file import DamagedFile

    if (number := contents.get("format")) not in FORMATS:
        raise UserError(f"{path} was written by another nmt (format {number}): train again, or use that version")
    try:
        _name_old_defaults(contents["config"])
        training = contents["training"] and _upgraded_training(contents["training"])
    except (AttributeError, KeyError, TypeError, RuntimeError) as error:
        raise DamagedFile(f"{path} is not an nmt checkpoint ({type(error).__name__}: {error})") from None
    later_fields: dict[str, Any] = {"selection": None, "threshold": None, "scales": {}}
    return later_fields | contents | {"format": FORMAT, "training": training}


def _name_old_defaults(config: dict[str, Any]) -> None:
    """Name the values that fields which an older nmt did not have yet had in effect. Search uses all tokens, as now."""
    config.setdefault("search", {})["vocabulary_selection"] = False
    match config:
        case {"model": {"attention": {"scope": "local_p" | "local_m" as scope} as attention}}:  # before 0.3
            if scope == "local_p":
                attention.setdefault("initial_position", "middle")
                if attention.get("narrow_updates") and "narrow_from" in attention:
                    attention.setdefault("fixed_above", attention["narrow_from"])
            attention.setdefault("narrow_updates", 0)


def _upgraded_training(training: dict[str, Any]) -> dict[str, Any]:
    """The state of training with flat names, and with the processes' random generators in one tensor."""
    import torch

    of_gpus = training["random_cuda"]
    return training | {
        "optimizer": {
            f"{number}.{kind}": moment
            for number, moments in training["optimizer"].items()
            for kind, moment in moments.items()
        },
        "validation": training.get("validation"),  # nmt 0.1 kept none
        "random": torch.stack(training["random"]),
        "random_cuda": None if any(state is None for state in of_gpus) else torch.stack(of_gpus),
    }
