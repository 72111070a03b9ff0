"""nmt select: let a checkpoint that has no vocabulary selection search as fast as a new one."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, add_data_folder, split_config
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt select",
        description="Write a copy of a checkpoint that knows the likely translations of each word, learnt from its "
        "training text. Search then leaves out all other words, and is faster. nmt train has done this since nmt 0.3.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.pt")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.pt")
    add_data_folder(parser)
    parser.add_argument("--source", type=Path, metavar="FILE", help="learn from this text, not the training text")
    parser.add_argument("--target", type=Path, metavar="FILE", help="its translation, line by line")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the copy. Raises `UserError` if the output exists, or the vocabulary is too small to select from."""
    files.require_new(options.output)
    if (options.source is None) != (options.target is None):
        raise UserError("--source and --target belong together: give both files, or neither")

    import torch

    from nmt.checkpoint import contents as checkpoint
    from nmt.data.ibm1 import side_of
    from nmt.data.splits import load_split
    from nmt.selection import lexical
    from nmt.text.corpus import read_pairs

    loaded = checkpoint.load(options.checkpoint, torch.device("cpu"))
    if options.source is None:
        text = load_split(split_config(options, loaded.config), "train")
    else:
        text = read_pairs(options.source, options.target)
    types = loaded.source.vocabulary, loaded.target.vocabulary
    source = side_of(map(loaded.source.encode, text.source), len(types[0]))
    target = side_of(map(loaded.target.encode, text.target), len(types[1]))
    selection = lexical.learn(source, target, types)
    if selection is None:
        raise UserError(
            f"{options.checkpoint}: with {len(types[1]):,} target types there is nothing to gain: the selection needs "
            f"more than {lexical.SMALL:,}; use the checkpoint as it is"
        )
    checkpoint.set_selection(options.checkpoint, options.output, selection)
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
