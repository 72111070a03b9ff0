"""nmt average: the mean of checkpoints with one beginning, or one checkpoint at half or a quarter of the size."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, refuse_twice
from nmt.system import files


def parser() -> Parser:
    parser = Parser(
        prog="nmt average",
        description="Write a checkpoint with the mean of several checkpoints' weights. It can translate, but training "
        "cannot be resumed from it, and a score threshold is not kept: run nmt calibrate afterwards. All must come "
        "from one run (different seeds are refused), or from runs that started from the same checkpoint "
        "(training.start_from).",
    )
    parser.add_argument(
        "checkpoints", nargs="+", metavar="CHECKPOINT", help="checkpoints that share their initial weights"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.pt")
    smaller = parser.add_mutually_exclusive_group()
    smaller.add_argument("--half", action="store_true", help="store the weights in 16 bits (half precision)")
    smaller.add_argument("--int8", action="store_true", help="store matrices in 8 bits, with a scale for each row")
    return parser


def run(options: argparse.Namespace) -> int:
    """Average checkpoints. Raises `UserError` if one is given twice, they do not match, or the output exists."""
    refuse_twice(options.checkpoints)
    files.require_new(options.output)

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    mean = checkpoint.average(loaded)
    model = mean.model.half() if options.half else mean.model
    sides = mean.source, mean.target
    checkpoint.save(options.output, mean.config, *sides, model, selection=mean.selection, int8=options.int8)
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
