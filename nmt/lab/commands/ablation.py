"""nmt ablation: train every config's model under one budget, then write a page that compares them."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, positive
from nmt.system.process_pool import cores


def parser() -> Parser:
    parser = Parser(
        prog="nmt ablation",
        description="Train every attention mechanism under one budget, and write a page that compares them. "
        "Runs with a result in DIR/results are skipped: repeat the command to continue an interrupted comparison.",
    )
    add = parser.add_argument
    add("configs", nargs="*", metavar="CONFIG", help="configs, one per mechanism (default: all in configs/ablation)")
    add("--output", type=Path, default=Path("ablation"), metavar="DIR", help="folder of the page (default: ablation)")
    add("--jobs", type=positive, default=cores(), metavar="N", help="runs at once (default: all cores)")
    add(
        "--seeds", type=positive, default=1, metavar="N", help="train each mechanism N times, with N seeds (default: 1)"
    )
    recipe = "take corpus, sizes and budget from this config, and only names and mechanisms from the others"
    add("--recipe", metavar="CONFIG", help=recipe)
    add("--set", action="append", default=[], metavar="FIELD=VALUE", help="override a field of every config")
    return parser


def run(options: argparse.Namespace) -> int:
    """Train, measure and compare. Raises `UserError` before anything is run for what does not go together."""
    from nmt.lab.compare import compare

    return compare(options)
