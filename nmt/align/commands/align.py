"""Print the word alignment of each pair of a parallel text: links 0-0 1-2 … of source and target words, from 0.

White space separates words. A model's links are those of its attention when it is forced to write the target.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.align.symmetrization import SYMMETRIZATIONS, Symmetrization
from nmt.commands.options import Parser, add_device_options, set_threads
from nmt.system import files
from nmt.system.errors import UserError, escape_controls

if TYPE_CHECKING:
    from nmt.align.links import Attended
    from nmt.decoding.word_alignment import Link
    from nmt.text.corpus import ParallelText

BLOCK = 512  # pairs whose weights are in memory, and whose lines are printed, at a time
DEFAULT: Symmetrization = "grow-diag-final-and"


def parser() -> Parser:
    parser = Parser(prog="nmt align", description=__doc__)
    add = parser.add_argument
    add("checkpoint", nargs="?", metavar="CHECKPOINT", help="a model with attention; left out with --lexical")
    add("source", type=Path, metavar="SOURCE", help="source sentences, one per line")
    add("target", type=Path, metavar="TARGET", help="their translations, line by line")
    both = "a model of the opposite direction, to symmetrise the links of both"
    add("--reverse", metavar="CHECKPOINT", help=both)
    add("--lexical", action="store_true", help="learn the links from the text, without a model")
    method = "symmetrisation of two directions (default: grow-diag-final-and)"
    add("--symmetrization", choices=SYMMETRIZATIONS, help=method)
    add("--json", action="store_true", help="print words, links and weights (target words by source words) as JSON")
    add("--output", type=Path, metavar="FILE", help="write the lines to this file")
    add_device_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    _check(options)

    from nmt.text.corpus import read_pairs

    paths = options.source, options.target
    blocks = _lexical(options, read_pairs(*paths)) if options.lexical else _by_models(options, *paths)
    with ExitStack() as stack:
        file = sys.stdout.buffer
        if options.output is not None:
            file = stack.enter_context(files.replace_atomically(options.output))
        for lines in blocks:
            file.write("".join(f"{line}\n" for line in lines).encode())
            file.flush()
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise `UserError` if options exclude each other, before anything is loaded."""
    if options.lexical == (options.checkpoint is not None):
        both = "--lexical uses no CHECKPOINT" if options.lexical else "no CHECKPOINT given"
        raise UserError(f"{both}: nmt align CHECKPOINT SOURCE TARGET, or nmt align --lexical SOURCE TARGET")
    if options.lexical and (options.reverse is not None or options.json):
        raise UserError("--lexical has both directions and no weights: leave out --reverse and --json")
    if options.symmetrization is not None and not options.lexical and options.reverse is None:
        raise UserError("--symmetrization needs two directions: add --reverse CHECKPOINT, or leave it out")
    if options.output is not None:
        files.require_new(options.output)


def _lexical(options: argparse.Namespace, text: ParallelText) -> Iterator[list[str]]:
    from nmt.align.links import of_text

    yield [_pharaoh(links) for links in of_text(text, options.symmetrization or DEFAULT)]


def _by_models(options: argparse.Namespace, source: Path, target: Path) -> Iterator[list[str]]:
    from nmt.align.links import attended, check_models
    from nmt.text.corpus import ParallelText, read_pairs
    from nmt.translator import Translator

    set_threads(options.threads)
    translator = Translator.load(options.checkpoint, device=options.device)
    text = read_pairs(source, target, translator.languages)
    reverse = Translator.load(options.reverse, device=options.device) if options.reverse is not None else None
    check_models(translator, reverse)
    method = options.symmetrization or DEFAULT
    for start in range(0, len(text.source), BLOCK):
        block = ParallelText(text.source[start : start + BLOCK], text.target[start : start + BLOCK])
        results = attended(translator, block, reverse=reverse, symmetrization=method)
        pairs = zip(block.source, block.target, results, strict=True)
        yield [_json_line(*pair) if options.json else _pharaoh(pair[2].links) for pair in pairs]


def _pharaoh(links: Iterable[Link]) -> str:
    return " ".join(f"{s}-{t}" for s, t in sorted(links))


def _json_line(source: str, target: str, result: Attended) -> str:
    entry = {"source": source.split(), "target": target.split(), "alignment": sorted(result.links)}
    weights = {"attention": result.weights, "reverse_attention": result.reverse_weights}
    entry |= {name: None if matrix is None else matrix.tolist() for name, matrix in weights.items()}
    return escape_controls(json.dumps(entry, ensure_ascii=False))
