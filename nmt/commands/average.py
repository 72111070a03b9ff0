"""nmt average: one checkpoint from several of a run, or one that takes half the space."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, refuse_twice
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt average",
        description="Write a checkpoint whose weights are the mean of those of others, for translation alone.",
    )
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="models alike but in their weights")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="a new file, such as NAME.pt")
    parser.add_argument("--half", action="store_true", help="keep weights in 16 bits (IEEE half precision)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Average checkpoints."""
    refuse_twice(options.checkpoints)
    if options.output.exists():
        raise UserError(f"{options.output} exists already: give --output another name, or remove it")

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    mean = checkpoint.average(loaded)
    model = mean.model.half() if options.half else mean.model
    checkpoint.save(options.output, mean.config, mean.source, mean.target, model)
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
