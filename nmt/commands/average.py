"""nmt average: the mean of several checkpoints of one run, or one checkpoint at half the size."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, refuse_twice
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt average",
        description="Write a checkpoint with the mean of several checkpoints' weights. It can translate, but training "
        "cannot be resumed from it. All must come from one run: different seeds are refused.",
    )
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="checkpoints of one run")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.pt")
    parser.add_argument("--half", action="store_true", help="store the weights in 16 bits (half precision)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Average checkpoints. Raises `UserError` if one is given twice, they do not match, or the output exists."""
    refuse_twice(options.checkpoints)
    if options.output.exists():
        raise UserError(f"{options.output} already exists: choose another --output, or remove it")

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    mean = checkpoint.average(loaded)
    model = mean.model.half() if options.half else mean.model
    checkpoint.save(options.output, mean.config, mean.source, mean.target, model, selection=mean.selection)
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
