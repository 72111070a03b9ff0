"""nmt translate: sentences of the command line, a file, standard input, or a prompt; only translations on stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.checkpoint.address import is_address, local
from nmt.commands import directions, results, sentences
from nmt.commands.options import (
    SEARCH_OPTIONS,
    Parser,
    add_batch_options,
    add_plain,
    add_sampling_options,
    add_search_options,
    positive,
    refuse_twice,
    sampling,
    search_settings,
    set_threads,
    share_threads,
)
from nmt.system import bundled, files
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.process_pool import map_in_processes
from nmt.system.startup import without_garbage_collection
from nmt.system.streams import output_is_closed
from nmt.text.corpus import read_lines

if TYPE_CHECKING:
    from nmt.commands.resumable import Writer
    from nmt.translator import Translator

PATIENCE = 0.05  # seconds that workers' results may wait for more of standard input
CONTENT_OPTIONS = (*SEARCH_OPTIONS, "max_length", "batch_size", "n_best", "json", "replace_unk", "prefix", "plain")
Models = tuple[str, ...]  # the checkpoints that translate together


def parser() -> Parser:
    parser = Parser(
        prog="nmt translate",
        description="Translate sentences given as TEXT, or the lines of a file or of standard input. Without any of "
        "them, an interactive prompt opens. Only translations are printed on standard output.",
    )
    models = "models, such as checkpoints/quickstart/best.safetensors or hf://OWNER/NAME (several are an ensemble; "
    models += "without any, the bundled model for the language of the text), then sentences"
    parser.add_argument("arguments", nargs="*", metavar="[CHECKPOINT …] [TEXT …]", help=models)
    directions.add_direction_options(parser)
    _add_file_options(parser.add_argument_group("files"))
    _add_result_options(parser.add_argument_group("results"))
    add_batch_options(parser)
    add_search_options(parser)
    add_plain(parser)
    add_sampling_options(parser)
    return parser


def _add_file_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--input", type=Path, metavar="FILE", help="translate each line of this file (plain or .gz)")
    output = "with --input: write to this new file instead of standard output"
    group.add_argument("--output", type=Path, metavar="FILE", help=output)
    resume = "continue an --output that was interrupted, with the same other options"
    group.add_argument("--resume", action="store_true", help=resume)
    workers = "distribute the lines of the file or of standard input over N processes"
    group.add_argument("--workers", type=positive, default=1, metavar="N", help=workers)


def _add_result_options(group: argparse._ArgumentGroup) -> None:
    n_best = "print the N best translations of each sentence, as: sentence number (from 0) ||| text ||| score"
    group.add_argument("--n-best", type=positive, default=1, metavar="N", help=n_best)
    as_json = "print one JSON object per line: text, tokens, score, attention"
    group.add_argument("--json", action="store_true", help=as_json)
    attention = "draw the attention of one sentence, as .png, .svg or .pdf"
    group.add_argument("--attention", type=Path, metavar="FILE", help=attention)
    replace = "replace each unknown word in the translation by the source word with the most attention"
    group.add_argument("--replace-unk", action="store_true", help=replace)
    dictionary = "with --replace-unk: translate those words; two columns, source word and translation"
    group.add_argument("--dictionary", type=Path, metavar="FILE", help=dictionary)
    prefix = "begin each translation with this text; the search continues from there, over the whole vocabulary"
    group.add_argument("--prefix", metavar="TEXT", help=prefix)


def run(options: argparse.Namespace) -> int:
    """Translate."""
    try:
        _run(options)
    finally:
        _load.cache_clear()
    return 0


def _run(options: argparse.Namespace) -> None:
    checkpoints, text = split_arguments(options.arguments)
    _check(options, text)
    for file in filter(os.path.isfile, text):
        print(f"{file} is also a file: to translate its lines, use --input {file}", file=sys.stderr)
    refuse_twice(checkpoints)
    options.translations = None
    if options.dictionary is not None:
        from nmt.text.unknown_words import read_dictionary

        options.translations = read_dictionary(options.dictionary)
    models_for = partial(directions.choose_checkpoints, options, checkpoints)
    if text or options.input is not None:
        lines = text or read_lines(options.input)
        models = models_for(lines)
        with _output(options, models, lines) as (done, write):
            _translate(options, models, sentences.in_blocks(lines, done), write, done)
    elif sys.stdin.isatty():
        options.workers = 1  # each answer is waited for
        choose = None if checkpoints else directions.prompt_chooser(options)
        _translate(options, models_for([]), sentences.prompt_blocks(), results.print_lines, choose=choose)
    else:
        first: list[str] = []
        blocks = sentences.stream_blocks(sys.stdin.fileno(), PATIENCE if options.workers > 1 else None)
        if not checkpoints and directions.depends_on_text(options):
            first, blocks = directions.first_text(blocks)
        _translate(options, models_for(first), blocks, results.print_lines)


def _check(options: argparse.Namespace, text: Sequence[str]) -> None:
    """Raise `UserError` for options that do not go together, before anything is loaded."""
    if text and options.input:
        raise UserError("TEXT and --input exclude each other: give one of them")
    if options.output is not None and options.input is None:
        raise UserError("--output needs --input FILE: for other sentences, redirect standard output (> FILE)")
    if options.resume and options.output is None:
        raise UserError("--resume needs the --output FILE that was interrupted")
    if options.dictionary is not None and not options.replace_unk:
        raise UserError("--dictionary is only used with --replace-unk: give both options, or neither")
    if options.output is None and options.attention is None and output_is_closed():
        raise UserError("standard output is closed, so the translations would be lost: use --input FILE --output FILE")
    if not text and options.input is None and sys.stdin is None:
        raise UserError("there is no standard input to read: give TEXT or --input FILE")
    sampling(options)
    if options.attention is not None:
        from nmt.plots.style import figure_format

        figure_format(options.attention)
        if len(text) != 1:
            raise UserError(f"--attention draws one sentence, and {len(text)} were given: quote one as TEXT")
        files.make_folder(options.attention.parent)


_ENDINGS = (".safetensors", ".pt")  # of checkpoints; .pt is that of nmt 0.3, whose files are refused with advice


def split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The checkpoints, which come first, and the sentences. A checkpoint has one of `_ENDINGS`, or begins with hf://.

    Raises `UserError` if the first argument is another file, or if no model is given or bundled.
    """
    count = 1 if arguments and os.path.exists(arguments[0]) else 0  # Path.exists raises for a long sentence
    if count and os.path.isfile(arguments[0]) and not arguments[0].endswith(_ENDINGS):
        raise UserError(f"{arguments[0]} is not a checkpoint: to translate its lines, use --input {arguments[0]}")
    while count < len(arguments) and (arguments[count].endswith(_ENDINGS) or is_address(arguments[count])):
        count += 1
    if count == 0 and not bundled.MODEL.exists():
        raise bundled.missing()
    return [*map(local, arguments[:count])], arguments[count:]


@contextmanager
def _output(options: argparse.Namespace, models: Models, lines: Sequence[str]) -> Iterator[tuple[int, Writer]]:
    """The number of sentences that are already translated, and a function that writes the lines of more."""
    if options.output is not None:
        from nmt.commands.resumable import fingerprint, resumable_output

        dictionary = [options.dictionary] if options.dictionary else []
        paths = {"checkpoint": map(Path, models), "--dictionary": dictionary}
        made_by = fingerprint(options, CONTENT_OPTIONS, paths, lines)
        with (
            resumable_output(options.output, made_by, resume=options.resume) as (done, write_file),
            results.progress(write_file, len(lines), done) as write,
        ):
            yield done, write
    elif options.input is not None:
        with results.progress(results.print_lines, len(lines), 0) as write:
            yield 0, write
    else:
        yield 0, results.print_lines


def _translate(
    options: argparse.Namespace,
    models: Models,
    blocks: Iterable[list[str]],
    write: Writer,
    number: int = 0,
    choose: Callable[[list[str]], Models] | None = None,
) -> None:
    """Translate and write blocks of sentences, the first of which has this number, from 0.

    `choose` gives the models of each block. An empty block says that standard input keeps workers waiting.
    """
    share_threads(options)
    with without_garbage_collection():
        translator = _load(models, options.device, options.threads, options.plain)
    if options.attention is not None and not translator.has_attention:
        raise UserError("--attention: this model has no attention (model.attention.wiring: none)")

    def jobs(number: int) -> Iterator[tuple[Models, int, list[str]] | None]:
        for block in blocks:
            yield (choose(block) if choose else models, number, block) if block else None
            number += len(block)

    translate = partial(_translate_block, options)
    if options.workers == 1:
        output: Iterable[tuple[int, list[str]]] = (translate(*job) for job in jobs(number) if job is not None)
    else:
        output = map_in_processes(translate, jobs(number), options.workers)
    for count, lines in output:
        write(count, lines)


@cache
def _load(models: Models, device: str, threads: int | None, plain: bool) -> Translator:
    from nmt.translator import Translator

    set_threads(threads)
    return Translator.load(*models, device=device, fast=not plain)


def _translate_block(
    options: argparse.Namespace, models: Models, number: int, block: list[str]
) -> tuple[int, list[str]]:
    """The number of sentences in a block, and the lines of output. `number` is that of the first one, from 0."""
    translations = _load(models, options.device, options.threads, options.plain).translate(
        block,
        n_best=options.n_best,
        replace_unk=options.replace_unk,
        dictionary=options.translations,
        attention=options.json or options.attention is not None,
        prefix=options.prefix,
        **search_settings(options),
    )
    results.warn(block, translations, number)
    if options.attention is not None:
        with prefix_errors_with("--attention: "):
            translations[0].plot(options.attention)
    return len(block), results.format_lines(translations, number, options)
