"""nmt explain: one sentence's translation, with all that led to it, as a page in a single file."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.checkpoint.address import is_address, model_name
from nmt.commands.options import Parser, add_device_options, positive, set_threads
from nmt.commands.sentences import add_direction_options, choose_checkpoints
from nmt.commands.translate import split_arguments
from nmt.system import files
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt explain",
        description="Write a page that shows how a sentence is translated: attention, steps, beam, alternatives and "
        "forced attention. It is a single file, which needs no server.",
    )
    add = parser.add_argument
    arguments = "a model (without one, the bundled model for the language of the text), then one sentence"
    add("arguments", nargs="*", metavar="[CHECKPOINT] TEXT", help=arguments)
    add("--html", type=Path, required=True, metavar="FILE", help="the file to write, such as dog.html")
    add("--beam", "--beam-size", type=positive, metavar="K", help="beam size; 1 is greedy search")
    add("--length-penalty", type=float, metavar="α", help="exponent of the length penalty")
    words = "other words to choose at each step, 0 to 9 (default: 2)"
    sources = "other source words to force attention onto at each step, 0 to 9 (default: 2)"
    for option, text in (("--alternatives", words), ("--forced", sources)):
        add(option, type=int, choices=range(10), default=2, metavar="N", help=text)
    add_direction_options(parser)
    add_device_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Explain. Raises `UserError` for anything but one model and one sentence, and for a file that exists."""
    checkpoints, text = split_arguments(options.arguments)
    if len(text) != 1:
        raise UserError(f"nmt explain shows one sentence, and {len(text)} were given: quote one as TEXT")
    if len(checkpoints) > 1:
        raise UserError(f"explain supports a single model, and {len(checkpoints)} were given: leave the others out")
    if options.beam is not None and options.beam > 50:
        raise UserError(f"--beam {options.beam}: the page shows up to 50 hypotheses; lower it")
    files.require_new(options.html, "--html")
    [checkpoint] = choose_checkpoints(options, checkpoints, text)
    named = options.arguments[0]  # of an address of the hub, which `split_arguments` has fetched, it has the name

    from nmt.page.html_report import html_report
    from nmt.text.sentences import split_text
    from nmt.translator import Translator

    set_threads(options.threads)
    translator = Translator.load(checkpoint, device=options.device)
    sentences = split_text(text[0], translator.source.language).sentences
    if len(sentences) > 1 and translator.search.split is not False and not translator.model.segment_ends:
        raise UserError(f"nmt explain shows one sentence, and this text has {len(sentences)}: quote one as TEXT")
    page = html_report(
        translator,
        model_name(named if is_address(named) else checkpoint),
        text[0],
        beam_size=options.beam,
        length_penalty=options.length_penalty,
        alternatives=options.alternatives,
        forced=options.forced,
    )
    files.write(options.html, page.encode())
    print(f"Written: {options.html} ({options.html.stat().st_size / 1e6:.1f} MB)")
    return 0
