"""nmt migrate: convert checkpoints of nmt 0.3, which are archives of `torch.save`. Nothing else reads such files."""

from __future__ import annotations

import argparse
import hashlib
import io
from pathlib import Path
from typing import Any

from nmt.commands.options import Parser
from nmt.system import files
from nmt.system.errors import UserError
from nmt.text.normalization import normalized

FORMAT = 3  # that of nmt 0.3


def parser() -> Parser:
    parser = Parser(
        prog="nmt migrate",
        description="Convert a checkpoint of nmt 0.3 (.pt) to the present format (.safetensors), or all in a run's "
        "folder. Training can be resumed from them.",
    )
    parser.add_argument("old", type=Path, metavar="OLD", help="a checkpoint (.pt), or the folder of a run")
    parser.add_argument("new", type=Path, metavar="NEW", help="the file to write (.safetensors), or the same folder")
    return parser


def run(options: argparse.Namespace) -> int:
    """Convert. Raises `UserError` if a checkpoint cannot be read, or a file that would be written exists."""
    old, new = options.old, options.new
    paths = (
        {path: new / f"{path.stem}.safetensors" for path in sorted(old.glob("*.pt"))} if old.is_dir() else {old: new}
    )
    if not paths:
        raise UserError(f"{old} has no checkpoint of nmt 0.3: give a file that ends in .pt, or its folder")
    for path, output in paths.items():
        files.require_new(output, "NEW")
        _convert(path, output)
        print(f"Written: {output} ({output.stat().st_size / 1e6:.1f} MB)")
    return 0


def _convert(old: Path, new: Path) -> None:
    import torch

    from nmt.checkpoint import contents as checkpoint
    from nmt.checkpoint.file import DamagedFile, read_bytes, write
    from nmt.migrate.config import upgrade

    data = read_bytes(old)
    body, _, digest = data.rpartition(b"sha256:")  # of all bytes before it
    if digest != hashlib.sha256(body).hexdigest().encode():
        raise DamagedFile(f"{old} is no checkpoint of nmt 0.3, or damaged: its checksum is wrong; use another copy")
    try:
        contents: dict[str, Any] = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)  # runs no code
        if (number := contents["format"]) != FORMAT:
            raise UserError(f"{old} was written by another nmt (format {number}): train again, or use that version")
        contents["format"] = checkpoint.FORMAT
        upgrade(contents["config"], str(old), quiet=True)
        contents["config"]["data"]["normalize"] = all(_is_normalized(contents[side]) for side in ("source", "target"))
        contents.pop("selection", None)  # a part of the vocabulary that 0.3 searched
        if (training := contents["training"]) is not None:
            moments, of_gpus = training["optimizer"], training["random_cuda"]
            training["optimizer"] = {f"{n}.{kind}": m for n in moments for kind, m in moments[n].items()}
            training["random"] = torch.stack(training["random"])
            training["random_cuda"] = None if any(state is None for state in of_gpus) else torch.stack(of_gpus)
        loaded = checkpoint.parse(contents, str(old), torch.device("cpu"))
        write(new, contents | {"config": loaded.config.model_dump(mode="json")})
    except UserError:
        raise
    except Exception as error:  # of many kinds: the file may come from anybody
        reason = " ".join(f"{type(error).__name__}: {error}"[:200].split())
        raise DamagedFile(f"{old} is not an nmt checkpoint: it cannot be read ({reason})") from None


def _is_normalized(side: dict[str, Any]) -> bool:
    """Whether all tokens of one side are tokens of normalised text, too."""
    before = "o" if side["subword_model"] is None else ""  # with which an accent that is a token would combine
    return all(normalized(before + token) == before + token for token in side["tokens"])
