"""Translate sentences given as TEXT, or the lines of a file or of standard input.

Only translations are printed on standard output. The bundled models are for non-commercial research and education.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nmt import addons
from nmt.checkpoint.address import is_address, local
from nmt.commands import options as shared
from nmt.commands import output, sentences
from nmt.commands.options import Parser, positive
from nmt.system import bundled, files
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.process_pool import map_in_processes
from nmt.system.startup import output_is_closed
from nmt.text.corpus import of_language, read_lines, reader_of

if TYPE_CHECKING:
    from nmt.translator import Translator

Models: TypeAlias = tuple[str, ...]  # the checkpoints that translate together
OWN_CONTENT_OPTIONS = ("n_best", "json", "alignment", "replace_unk", "prefix", "plain", "check_words")
DOCUMENT = "translate a document (.txt, .md, .html, .po, .xlf, .tmx, .csv, .tsv, .srt, .docx) into NAME.LANGUAGE.ENDING"
CANNOT_WARN = "This model cannot warn of text unlike its training text: it has no thresholds, which nmt train fits"
ENDINGS = (".safetensors", ".pt")  # of checkpoints; .pt is that of nmt 0.3, whose files are refused with advice


def parser() -> Parser:
    parser = Parser(prog="nmt translate", description=__doc__)
    models = "models, such as checkpoints/quickstart/best.safetensors or hf://OWNER/NAME (several: an ensemble; "
    models += "default: the bundled model for the language of the text), then sentences"
    parser.add_argument("arguments", nargs="*", metavar="[CHECKPOINT …] [TEXT …]", help=models)
    sentences.add_direction_options(parser)
    add = parser.add_argument_group("files").add_argument
    add("--input", type=Path, metavar="FILE", help="translate each line of this file, or each text of FILE.csv#COLUMN")
    add("--output", type=Path, metavar="FILE", help="write to this new file")
    add("--resume", action="store_true", help="continue an interrupted --output, with the same other options")
    add("--workers", type=positive, default=1, metavar="N", help="with --input: share the lines among N processes")
    if "documents" in (offers := {name for addon in addons.addons() for name in addon.offers}):
        add("--document", type=Path, metavar="FILE", help=DOCUMENT)
    add = parser.add_argument_group("results").add_argument
    n_best = "print the N best translations, as: sentence number (from 0) ||| text ||| score"
    add("--n-best", type=positive, default=1, metavar="N", help=n_best)
    add("--json", action="store_true", help="print one JSON object per line: text, tokens, score, attention, warnings")
    add("--attention", type=Path, metavar="FILE", help="draw the attention of one sentence, as .png, .svg or .pdf")
    add("--pieces", action="store_true", help="let --attention draw the model's tokens, not whole words")
    add("--replace-unk", action="store_true", help="replace unknown words by the source word with the most attention")
    alignment = "print word links (source-target, from 0) after each translation: text ||| 0-0 1-1"
    add("--alignment", action="store_true", help=alignment)
    words = "report missing and added words, on standard error and in --json (slower)"
    parser.set_defaults(check_words=False)
    if "missing_words" in offers:
        add("--check-words", action="store_true", help=words)
    add("--prefix", metavar="TEXT", help="begin each translation with this text; search the whole vocabulary")
    parser.add_argument("--plain", action="store_true", help="plain PyTorch, without nmt.fast")
    shared.add_decoding_options(parser)
    if (room := addons.offered("translate_options")) is not None:
        room.add_to(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    _load.cache_clear()
    checkpoints, text = split_arguments(options.arguments)
    if getattr(options, "document", None):
        return int(addons.offered("documents").run(options, checkpoints, text))
    _check(options, text)
    for file in filter(os.path.isfile, text):
        print(f"{file} is also a file: to translate its lines, use --input {file}", file=sys.stderr)
    options.detected, room = None, addons.offered("translate_options")
    options.more, options.files = (room.settings(options), room.files(options)) if room is not None else ({}, {})
    if text or options.input is not None:
        _translate_lines(options, checkpoints, text or _read_input(options, checkpoints))
        return 0
    blocks = sentences.stream_blocks(sys.stdin.fileno())
    is_set = checkpoints or options.from_language or options.to_language  # no line need be waited for
    first, blocks = ([], blocks) if is_set else sentences.first_text(blocks)
    _translate(options, blocks, sentences.choose_checkpoints(options, checkpoints, first), output.print_lines)
    return 0


def _read_input(options: argparse.Namespace, checkpoints: Sequence[str]) -> list[str]:
    """The lines of --input; of a file of several languages those that are translated."""
    language = options.from_language
    if checkpoints and reader_of(options.input) is not None:
        language = _load((checkpoints[0],), options.device, options.threads, options.plain).languages[0]
    return read_lines(of_language(options.input, language) if language else options.input)


def _check(options: argparse.Namespace, text: Sequence[str]) -> None:
    """Raise `UserError` for options that do not go together, before anything is loaded."""
    if text and options.input:
        raise UserError("TEXT and --input exclude each other: give one of them")
    if options.workers > 1 and options.input is None:
        raise UserError("--workers needs --input FILE: leave it out for other sentences")
    shared.refuse_alone(options, {"output": "input", "resume": "output"})
    if options.output is None and options.attention is None and output_is_closed():
        raise UserError("standard output is closed, so the translations would be lost: use --input FILE --output FILE")
    if not text and options.input is None and sys.stdin is None:
        raise UserError("there is no standard input to read: give TEXT or --input FILE")
    shared.search_settings(options)
    if options.check_words and (getattr(options, "markup", False) or getattr(options, "mnemonics", None)):
        raise UserError("--check-words reads plain text: leave it out, or --markup and --mnemonics")
    if options.attention is not None:
        from nmt.plots.style import figure_format

        figure_format(options.attention)
        if len(text) != 1:
            raise UserError(f"--attention draws one sentence, and {len(text)} were given: quote one as TEXT")
        files.make_folder(options.attention.parent)


def split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The checkpoints, which come first, and the sentences. A checkpoint has one of `ENDINGS`, or begins with hf://.

    Raises `UserError` if the first argument is another file, or if no model is given or bundled.
    """
    count = 1 if arguments and os.path.exists(arguments[0]) else 0  # Path.exists raises for a long sentence
    if count and os.path.isfile(arguments[0]) and not arguments[0].endswith(ENDINGS):
        advice = f"to translate its lines, use nmt translate --input {arguments[0]}"
        raise UserError(f"{arguments[0]} is not a checkpoint: {advice}")
    while count < len(arguments) and (arguments[count].endswith(ENDINGS) or is_address(arguments[count])):
        count += 1
    if count == 0 and not bundled.MODEL.exists():
        raise bundled.missing()
    return [*map(local, arguments[:count])], arguments[count:]


def _translate_lines(options: argparse.Namespace, checkpoints: Sequence[str], lines: Sequence[str]) -> None:
    """Translate sentences that are all there: those of the command line, or the lines of a file."""
    models = sentences.choose_checkpoints(options, checkpoints, lines)
    with ExitStack() as stack:
        done: int = 0
        write: output.Writer = output.print_lines
        if options.output is not None:
            paths = {"checkpoint": map(Path, models), **options.files}
            made_by = output.fingerprint(
                options, [*shared.content_options(), *OWN_CONTENT_OPTIONS, *options.more], paths, lines
            )
            done, write = stack.enter_context(output.resumable_output(options.output, made_by, resume=options.resume))
        if options.input is not None:
            write = stack.enter_context(output.progress(write, len(lines), done))
        _translate(options, sentences.in_blocks(lines, done), models, write, done)


def _translate(
    options: argparse.Namespace, blocks: Iterable[list[str]], models: Models, write: output.Writer, number: int = 0
) -> None:
    """Translate and write blocks of sentences, the first of which has this number, from 0."""
    shared.share_threads(options)
    translator = _load(models, options.device, options.threads, options.plain)
    for flag in ("attention", "alignment"):
        if getattr(options, flag) and not translator.has_attention:
            raise UserError(f"--{flag}: this model has no attention (model.attention.wiring: none)")
    unable = "" if translator.threshold is not None else CANNOT_WARN

    def jobs(number: int) -> Iterator[tuple[int, list[str]]]:
        for block in blocks:
            yield number, block
            number += len(block)

    for count, lines in map_in_processes(partial(_translate_block, options, models), jobs(number), options.workers):
        write(count, lines)
        if unable:
            print(unable, file=sys.stderr)
            unable = ""


@cache
def _load(models: Models, device: str, threads: int | None, plain: bool) -> Translator:
    from nmt.translator import Translator

    shared.set_threads(threads)
    return Translator.load(*models, device=device, fast=not plain)


def _translate_block(
    options: argparse.Namespace, models: Models, number: int, block: list[str]
) -> tuple[int, list[str]]:
    """The number of sentences in a block, and the lines of output. `number` is that of the first one, from 0."""
    translator = _load(models, options.device, options.threads, options.plain)
    translations = translator.translate(
        block,
        n_best=options.n_best,
        replace_unk=options.replace_unk,
        attention=options.json or options.alignment or options.attention is not None,
        prefix=options.prefix,
        **options.more,
        **shared.search_settings(options),
    )
    if options.check_words:
        translations = addons.offered("missing_words").checked(translator, translations)
    output.warn(block, translations, number, options.detected)
    if options.attention is not None:
        with prefix_errors_with("--attention: "):
            translations[0].plot(options.attention, pieces=options.pieces)
    return len(block), output.format_lines(translations, number, options)
