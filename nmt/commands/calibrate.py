"""Write a copy of a checkpoint with a score threshold, fitted to translations of the validation set.

nmt translate then warns about text that is unlike the training data.
"""

import argparse
from pathlib import Path

from nmt.commands.options import Parser, add_data_folder, add_device_options, set_threads, split_config
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(prog="nmt calibrate", description=__doc__)
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.safetensors")
    add("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.safetensors")
    add("--share", type=float, default=0.02, metavar="P", help="fraction below the threshold (default: 0.02)")
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--source", type=Path, metavar="FILE", help="fit to these sentences, not to the validation set")
    add_data_folder(text)
    add_device_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    files.require_new(options.output)
    if not 0 < options.share < 0.5:
        raise UserError(f"--share {options.share}: give a number above 0 and below 0.5, such as 0.02")

    from nmt.checkpoint import contents as checkpoint
    from nmt.data.splits import load_split
    from nmt.evaluation.calibration import calibrate
    from nmt.system.device import choose_device
    from nmt.text.corpus import read_lines
    from nmt.translator import Translator

    set_threads(options.threads)
    loaded = checkpoint.load(options.checkpoint, choose_device(options.device))
    if options.source is None:
        sentences = load_split(split_config(options, loaded.config), "validation").source
    else:
        sentences = read_lines(options.source)
    result = calibrate(Translator.of({options.checkpoint: loaded}), sentences, options.share)
    checkpoint.set_threshold(options.checkpoint, options.output, result.threshold)
    print(f"Threshold: {result.threshold:.3f} nats per token. Below it lie {result.matched:.1%} of the translations")
    print(f"beside their own source, and {result.shuffled:.1%} beside the source of another.")
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0
