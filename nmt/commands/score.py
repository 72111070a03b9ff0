"""Print the log-probability, in nats, of each translation of a text, one line per pair.

The perplexity of all is printed on standard error.
"""

import argparse
import sys
from pathlib import Path

from nmt import addons
from nmt.commands.options import Parser, add_device_options, positive, set_threads
from nmt.system.errors import UserError
from nmt.system.wording import counted

BLOCK = 4096  # pairs that are scored before their lines are printed


def parser() -> Parser:
    parser = Parser(prog="nmt score", description=__doc__)
    add = parser.add_argument
    add("checkpoints", nargs="+", metavar="CHECKPOINT", help="a model; several are an ensemble")
    add("--source", type=Path, metavar="FILE", help="source sentences, one per line")
    add("--target", type=Path, metavar="FILE", help="their translations, line by line")
    add("--per-token", action="store_true", help="divide each by its number of tokens, <eos> included")
    add("--batch-size", type=positive, default=64, metavar="N", help="pairs scored at once (default: 64)")
    add_device_options(parser)
    if (room := addons.offered("contrastive")) is not None:
        room.add_option(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    if getattr(options, "contrastive", None) is not None:
        return int(addons.offered("contrastive").run(options))
    if options.source is None or options.target is None:
        raise UserError("nmt score needs a text and its translations: give --source and --target")

    from nmt.text.corpus import read_pairs
    from nmt.training.loss import perplexity
    from nmt.translator import Translator

    set_threads(options.threads)
    translator = Translator.load(*options.checkpoints, device=options.device)
    text = read_pairs(options.source, options.target, translator.languages)
    total, tokens = 0.0, 0
    for start in range(0, len(text.source), BLOCK):
        block = slice(start, start + BLOCK)
        for score in translator.score(text.source[block], text.target[block], batch_size=options.batch_size):
            total, tokens = total + score.log_probability, tokens + score.tokens
            print(f"{score.log_probability / (score.tokens if options.per_token else 1):.6f}")
        sys.stdout.flush()
    pairs, target = counted(len(text.source), "pair"), counted(tokens, "token")
    print(f"{pairs}, {target}, perplexity {perplexity(-total / tokens):.4g}", file=sys.stderr)
    return 0
