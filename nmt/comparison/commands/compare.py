"""Show where the translations of two or more systems differ; each is compared with the first.

Prints BLEU, chrF and sacreBLEU's paired bootstrap; BLEU by source length; F1 of words by part of speech and, with
--training, by frequency; the sentences with the largest differences in chrF; n-grams that one has right more often.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nmt.commands.options import Parser, positive
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(prog="nmt compare", description=__doc__)
    add = parser.add_argument
    systems = "files of translations, one per line, or a folder of nmt evaluate --output"
    add("systems", nargs="+", type=Path, metavar="FILE", help=systems)
    add("--reference", type=Path, metavar="FILE", help="the reference translations (default: the folder's)")
    add("--source", type=Path, metavar="FILE", help="the source sentences, for lengths (default: the folder's)")
    add("--training", type=Path, metavar="FILE", help="the training text in the target language, for frequencies")
    languages = "codes of the source and target language (default: the files' endings)"
    add("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help=languages)
    pipeline = "a spaCy pipeline for parts of speech (default: an installed one, else letters alone)"
    add("--pipeline", metavar="NAME", help=pipeline)
    add("--lowercase", action="store_true", help="compare lower-cased text")
    add("--examples", type=positive, default=10, metavar="N", help="sentences that each system wins (default: 10)")
    add("--ngrams", type=positive, default=20, metavar="N", help="n-grams that each system wins (default: 20)")
    add("--html", type=Path, metavar="FILE", help="also write a page, a single file, such as comparison.html")
    return parser


def run(options: argparse.Namespace) -> int:
    for code in options.languages or ():
        if not re.fullmatch("[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}", code):
            raise UserError(f"--languages: {code!r} is not a language code: use one such as de")
    if options.html is not None:
        files.require_new(options.html, "--html")

    from nmt.comparison import page, summary
    from nmt.comparison.analysis import analyse
    from nmt.comparison.texts import read

    languages = (options.languages[0], options.languages[1]) if options.languages else None
    texts = read(options.systems, options.reference, options.source, languages)
    analysis = analyse(
        texts,
        training=options.training,
        pipeline=options.pipeline,
        lowercase=options.lowercase,
        examples=options.examples,
        ngrams=options.ngrams,
    )
    print(summary.text(analysis))
    if options.html is not None:
        files.write(options.html, page.html(analysis).encode())
        print(f"\nWritten: {options.html} ({options.html.stat().st_size / 1e6:.1f} MB)")
    return 0
