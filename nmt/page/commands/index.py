"""nmt index: an index of a model's states on its training text, for the page's neighbours."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, add_data_folder, add_device_options, corpus_config, positive, set_threads
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt index",
        description="Index a model's states on its training text. nmt serve then shows the training sentences with the "
        "words most similar to a selected one.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.safetensors")
    output = "the file to write (default: beside the checkpoint, where nmt serve finds it, such as best.index)"
    parser.add_argument("--output", type=Path, metavar="FILE", help=output)
    sentences = "pairs to index, spread over the text (default: 10,000)"
    parser.add_argument("--sentences", type=positive, default=10_000, metavar="N", help=sentences)
    text = parser.add_mutually_exclusive_group()
    add_data_folder(text)
    text.add_argument("--source", type=Path, metavar="FILE", help="index this text, not the training text")
    parser.add_argument("--target", type=Path, metavar="FILE", help="its translation, line by line")
    add_device_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the index. Raises `UserError` if the output exists."""
    if (options.source is None) != (options.target is None):
        raise UserError("--source and --target belong together: give both files, or neither")
    if options.output is None and options.checkpoint.startswith("hf://"):
        raise UserError("--output FILE is needed for a model of the Hugging Face Hub: say where the index is to go")
    from nmt.checkpoint import contents as checkpoint
    from nmt.data.splits import load_split
    from nmt.page.neighbours import index
    from nmt.system.device import choose_device
    from nmt.text.corpus import read_pairs
    from nmt.translator import Translator

    set_threads(options.threads)
    loaded = checkpoint.load(options.checkpoint, choose_device(options.device))
    output = options.output or Path(options.checkpoint).with_suffix(index.SUFFIX)
    files.require_new(output)
    translator = Translator.of({options.checkpoint: loaded})
    if options.source is None:
        text = load_split(corpus_config(options, loaded.config), "train")
    else:
        text = read_pairs(options.source, options.target, translator.languages)
    count = len(text.source)
    few = min(options.sentences, count)
    lines = [i * count // few for i in range(few)]
    built = index.build(translator, [(text.source[i], text.target[i]) for i in lines])
    index.save(built, output)
    words = sum(int(ends[-1]) for ends in built.ends.values())
    print(f"Written: {output} ({len(built.pairs):,} pairs, {words:,} states, {output.stat().st_size / 1e6:.0f} MB)")
    return 0
