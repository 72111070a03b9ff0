"""nmt calibrate: let a checkpoint know when a translation is unlike those of its own kind of text."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, add_data_folder, check_data_folder, data_here, positive, set_threads
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt calibrate",
        description="Write a copy of a checkpoint with a score threshold, fitted to translations of the validation "
        "set. nmt translate then warns about text that is unlike the training data.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.pt")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.pt")
    parser.add_argument(
        "--share",
        type=float,
        default=0.02,
        metavar="P",
        help="the share of validation sentences that may get the warning, too (default: 0.02)",
    )
    parser.add_argument(
        "--source", type=Path, metavar="FILE", help="fit to these sentences instead of the validation set"
    )
    add_data_folder(parser)
    parser.add_argument("--threads", type=positive, metavar="N", help="processor threads (default: PyTorch's choice)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the copy. Raises `UserError` if the output exists, or the model does not tell text from other text."""
    files.require_new(options.output)
    check_data_folder(options, options.source)
    if not 0 < options.share < 0.5:
        raise UserError(f"--share {options.share}: give a number above 0 and below 0.5, such as 0.02")

    from nmt.checkpoint import contents as checkpoint
    from nmt.data.splits import load_split
    from nmt.evaluation.calibration import calibrate
    from nmt.system.device import choose_device
    from nmt.text.corpus import read_lines
    from nmt.translator import Translator

    set_threads(options.threads)
    loaded = checkpoint.load(options.checkpoint, choose_device("auto"))
    if options.source is None:
        sentences = load_split(data_here(options, loaded.config), "validation").source
    else:
        sentences = read_lines(options.source)
    found = calibrate(Translator.of({options.checkpoint: loaded}), sentences, options.share)
    checkpoint.set_threshold(options.checkpoint, options.output, found.threshold)
    print(f"Threshold: {found.threshold:.3f} nats per token, below which lie {found.own:.1%} of these translations,")
    print(f"and {found.shuffled:.1%} of them when each stands beside another's sentence.")
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
