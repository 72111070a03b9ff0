"""Drop bad pairs from a parallel corpus, and repair some.

Rules are applied to each pair in this order; the first that matches drops it:
"""

from __future__ import annotations

import argparse
import re
import signal
from pathlib import Path

from nmt.clean.settings import RULES, Settings
from nmt.commands.options import Parser, positive
from nmt.system.errors import UserError


def parser() -> Parser:
    rules = ";\n".join(f"  {name}: {purpose}" for name, purpose in RULES.items())
    layout = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="nmt clean", description=f"{__doc__}\n{rules}.", formatter_class=layout)
    add = parser.add_argument
    files = "source and target sentences, line by line, such as text.en and text.de; or one file that has both"
    add("files", nargs="+", type=Path, metavar="FILE", help=files)
    output = "where text.LANGUAGE of both sides, dropped.tsv.gz and report.json are written"
    add("--output", type=Path, required=True, metavar="FOLDER", help=output)
    languages = "codes of the source and target language (default: the files' endings)"
    add("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help=languages)
    add("--skip", action="append", default=[], choices=RULES, metavar="RULE", help="switch a rule off; repeatable")
    ratio = "the largest ratio of lengths, in characters plus 10 (default: 2.5)"
    add("--max-ratio", type=_ratio, default=Settings.max_ratio, metavar="R", help=ratio)
    words = "the longest side, in words (default: 100)"
    add("--max-words", type=positive, default=Settings.max_words, metavar="N", help=words)
    names = "the longest identical sides that are kept, in words (default: 3)"
    add("--max-identical", type=positive, default=Settings.max_identical, metavar="N", help=names)
    add("--split-lines", action="store_true", help="divide pairs of several lines whose lines match")
    several = "of a source's translations, keep all, the most frequent, or the first (default: keep)"
    add("--several-targets", choices=("keep", "vote", "first"), default="keep", help=several)
    held_out = "validation and test sets, whose sentences are dropped"
    add("--held-out", nargs="+", action="extend", default=[], type=Path, metavar="FILE", help=held_out)
    scores = "the output of nmt score --per-token for these pairs, by models of both directions"
    add("--scores", nargs=2, type=Path, metavar=("FORWARD", "BACKWARD"), help=scores)
    add("--keep-share", type=_share, metavar="S", help="with --scores: the share of pairs to keep (default: 0.9)")
    add("--min-score", type=_share, metavar="X", help="with --scores: the lowest score to keep, from 0 to 1")
    add("--workers", type=positive, metavar="N", help="processes (default: one for each core)")
    return parser


def run(options: argparse.Namespace) -> int:
    _check(options)

    from nmt.clean.cleaning import Whole, clean, output_paths
    from nmt.clean.corpus import sides_of
    from nmt.text.corpus import of_language

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: no temporary file is left
    paths, languages = sides_of(options.files, options.languages)
    names = ("max_ratio", "max_words", "max_identical", "split_lines")
    settings = Settings(languages, frozenset(options.skip), **{name: getattr(options, name) for name in names})
    keep_share = 0.9 if options.keep_share is None and options.min_score is None else options.keep_share
    scores = (options.scores[0], options.scores[1]) if options.scores else None
    # A file of both languages is read for each; one that has lines, once.
    held_out = tuple(dict.fromkeys(of_language(path, code) for path in options.held_out for code in languages))
    whole = Whole(held_out, options.several_targets, scores, keep_share if scores else None, options.min_score)
    print(clean(paths, options.output, settings, whole, _off(options, settings), options.workers))
    source, target, dropped, _ = output_paths(options.output, languages)
    print(f"\nWritten: {source} and {target}. What was dropped: {dropped}.")
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise `UserError` for options that do not fit together, before anything is read."""
    if len(options.files) > 2:
        raise UserError(f"{options.files[2]}: give two files, or one that has both sides")
    if not options.scores and (options.keep_share is not None or options.min_score is not None):
        raise UserError("--keep-share and --min-score are for --scores: add it, or leave them out")
    if options.keep_share is not None and options.min_score is not None:
        raise UserError("--keep-share and --min-score exclude each other: leave one out")
    if options.scores and options.split_lines:
        raise UserError("--split-lines makes other pairs than were scored: split first, then score what was written")


def _off(options: argparse.Namespace, settings: Settings) -> dict[str, str]:
    """The rules that are not applied, and why."""
    from nmt.clean.language import recognised
    from nmt.clean.placeholders import available

    reasons = {
        "lines": "" if options.split_lines else "add --split-lines",
        "held-out": "" if options.held_out else "add --held-out FILE",
        "several-targets": "" if options.several_targets != "keep" else "add --several-targets vote",
        "scores": "" if options.scores else "add --scores",
        "placeholders": "" if available() else "nmt.constraints is not installed",
        "language": "languages that are not recognised" if not recognised(settings) else "",
    }
    off = {rule: f"off: {reason}" for rule, reason in reasons.items() if reason}
    return off | dict.fromkeys(options.skip, "off: --skip")


def _ratio(text: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or float(text) <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 1")
    return float(text)


def _share(text: str) -> float:
    if not re.fullmatch(r"[01]|0?\.\d{1,9}", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, and 1 at most")
    return float(text)
