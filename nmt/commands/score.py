"""nmt score: the log-probabilities of given translations."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from nmt.commands.options import Parser, add_device_options, positive, refuse_twice, set_threads
from nmt.system import files
from nmt.system.errors import UserError
from nmt.system.streams import output_is_closed
from nmt.system.wording import counted

BLOCK = 4096  # pairs that are scored before they are written


def parser() -> Parser:
    parser = Parser(
        prog="nmt score",
        description="Print the log-probability, in nats, that a model gives to each translation of a text, one line "
        "per pair. The perplexity of all is printed on standard error.",
    )
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="a model; several are an ensemble")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="source sentences, one per line")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE", help="their translations, line by line")
    per_token = "divide each log-probability by the number of tokens, <eos> included"
    parser.add_argument("--per-token", action="store_true", help=per_token)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this new file, not to standard output")
    batch_size = "pairs scored at once (default: 64)"
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help=batch_size)
    add_device_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the scores. Raises `UserError` if a file cannot be read or written, or if the files do not fit."""
    refuse_twice(options.checkpoints)
    if options.output is not None:
        files.require_new(options.output)
    elif output_is_closed():
        raise UserError("standard output is closed, so the scores would be lost: give --output FILE")

    from nmt.text.corpus import read_pairs
    from nmt.translator import Translator

    text = read_pairs(options.source, options.target)
    set_threads(options.threads)
    translator = Translator.load(*options.checkpoints, device=options.device)
    lines, total, tokens = [], 0.0, 0
    for start in range(0, len(text.source), BLOCK):
        block = slice(start, start + BLOCK)
        for scored in translator.score(text.source[block], text.target[block], batch_size=options.batch_size):
            total, tokens = total + scored.log_probability, tokens + scored.tokens
            lines.append(f"{scored.log_probability / (scored.tokens if options.per_token else 1):.6f}\n")
        if options.output is None:
            sys.stdout.write("".join(lines))
            lines.clear()
    if options.output is not None:
        files.write(options.output, "".join(lines).encode())
    pairs, mean = counted(len(text.source), "pair"), -total / tokens
    perplexity = math.exp(mean) if mean < 700 else math.inf
    print(f"{pairs}, {counted(tokens, 'token')}, perplexity {perplexity:.4g}", file=sys.stderr)
    return 0
