"""nmt translate: sentences of the command line, a file, standard input, or a prompt; only translations on stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.checkpoint.address import is_address, local
from nmt.commands import results, sentences
from nmt.commands.directions import (
    add_direction_options,
    at_a_prompt,
    given_or_bundled,
    has_words,
    text_decides,
)
from nmt.commands.options import (
    SEARCH_OPTIONS,
    Parser,
    add_batch_options,
    add_sampling_options,
    add_search_options,
    positive,
    refuse_twice,
    sampling,
    set_threads,
    share_threads,
)
from nmt.system import bundled, files
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.process_pool import map_in_processes
from nmt.system.startup import without_garbage_collection
from nmt.system.streams import output_is_closed

if TYPE_CHECKING:
    from nmt.commands.unfinished import Writer
    from nmt.translator import Translator

PATIENCE = 0.05  # seconds that workers' results may wait for more of standard input


def parser() -> Parser:
    parser = Parser(
        prog="nmt translate",
        description="Translate sentences given as TEXT, or the lines of a file or of standard input. Without any of "
        "them, a prompt asks for sentences. Only translations are printed on standard output.",
    )
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="[CHECKPOINT …] [TEXT …]",
        help="models, such as checkpoints/quickstart/best.pt or hf://OWNER/NAME (several translate together, as an "
        "ensemble; without any, the bundled model for the language of the text), then sentences",
    )
    add_direction_options(parser)
    _add_file_options(parser)
    _add_result_options(parser)
    parser.add_argument(
        "--prefix", metavar="TEXT", help="how each translation begins; the search goes on from there, among all words"
    )
    add_batch_options(parser)
    add_search_options(parser)
    add_sampling_options(parser)
    return parser


def _add_file_options(parser: Parser) -> None:
    parser.add_argument("--input", type=Path, metavar="FILE", help="translate each line of this file (plain or .gz)")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="with --input: write to this new file instead of standard output"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue an --output that was interrupted, with the same other options"
    )
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="share the lines of the file or of standard input among N processes",
    )


def _add_result_options(parser: Parser) -> None:
    parser.add_argument(
        "--n-best",
        type=positive,
        default=1,
        metavar="N",
        help="print the N best translations of each sentence, as: sentence number (from 0) ||| text ||| score",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line: text, tokens, score, attention"
    )
    parser.add_argument(
        "--attention", type=Path, metavar="FILE", help="draw the attention to one sentence, as .png, .svg or .pdf"
    )
    parser.add_argument(
        "--replace-unk",
        action="store_true",
        help="replace unknown words in the translation by the source word with the most attention",
    )
    parser.add_argument(
        "--dictionary",
        type=Path,
        metavar="FILE",
        help="with --replace-unk: translate those words; two columns, source word and translation",
    )


def run(options: argparse.Namespace) -> int:
    """Translate."""
    try:
        _run(options)
    finally:
        _TRANSLATORS.clear()
    return 0


def _run(options: argparse.Namespace) -> None:
    checkpoints, text = told_apart(options.arguments)
    _check(options, text)
    for file in filter(os.path.isfile, text):
        print(f"{file} is also a file: to translate its lines, use --input {file}", file=sys.stderr)
    refuse_twice(checkpoints)
    dictionary, lines = None, text
    if options.dictionary is not None:
        from nmt.text.unknown_words import read_dictionary

        dictionary = read_dictionary(options.dictionary)
    if options.input is not None:
        from nmt.text.corpus import read_lines

        lines = read_lines(options.input)
    from_stdin = not text and options.input is None
    at_prompt = from_stdin and sys.stdin.isatty()
    first: list[str] = []
    if at_prompt:
        options.workers = 1  # it waits for each answer
        blocks = sentences.prompted()
    elif from_stdin:
        blocks = sentences.arriving(sys.stdin.fileno(), PATIENCE if options.workers > 1 else None)
        if not checkpoints and text_decides(options):
            first, blocks = sentences.peeked(blocks, has_words)
    chosen = tuple(given_or_bundled(options, checkpoints, lines or first))
    share_threads(options)
    with _writer(options, chosen, lines) as (done, write):
        with without_garbage_collection():
            translator = _loaded(chosen, options)
        if options.attention is not None and not translator.has_attention:
            raise UserError("--attention: this model has no attention (model.attention.wiring: none)")
        if not from_stdin:
            blocks = sentences.in_blocks(lines, done)
        choose = at_a_prompt(options) if at_prompt and not checkpoints else lambda _: chosen
        for count, translated in _translated(options, dictionary, _jobs(blocks, done, choose)):
            write(count, translated)


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
        raise UserError(
            "standard output is closed, so that the translations would be lost: use --input FILE --output FILE"
        )
    if not text and options.input is None and sys.stdin is None:
        raise UserError("there is no standard input to read: give TEXT or --input FILE")
    sampling(options)
    if options.attention is not None:
        from nmt.plots.style import figure_format

        figure_format(options.attention)
        if len(text) != 1:
            raise UserError(f"--attention draws one sentence, and {len(text)} were given: quote one as TEXT")
        files.make_folder(options.attention.parent)


def told_apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Checkpoints, which come first and end in .pt or begin with hf://, and sentences. Any other file in the first
    place is a mistake."""
    count = 1 if arguments and os.path.exists(arguments[0]) else 0  # Path.exists raises for a long sentence
    if count and not arguments[0].endswith(".pt") and files.lacks_signature(arguments[0], b"PK"):  # of a zip archive
        raise UserError(f"{arguments[0]} is not a checkpoint: to translate its lines, use --input {arguments[0]}")
    while count < len(arguments) and (arguments[count].endswith(".pt") or is_address(arguments[count])):
        count += 1
    if count == 0 and not bundled.MODEL.exists():
        raise bundled.missing()
    return [*map(local, arguments[:count])], arguments[count:]


_TRANSLATORS: dict[tuple[str, ...], Translator] = {}  # of this run in this process, by their checkpoints


def _loaded(checkpoints: tuple[str, ...], options: argparse.Namespace) -> Translator:
    if checkpoints not in _TRANSLATORS:
        from nmt.translator import Translator

        set_threads(options.threads)
        _TRANSLATORS[checkpoints] = Translator.load(*checkpoints, device=options.device)
    return _TRANSLATORS[checkpoints]


@contextmanager
def _writer(
    options: argparse.Namespace, checkpoints: Sequence[str], lines: Sequence[str]
) -> Iterator[tuple[int, Writer]]:
    """How many sentences are written already, and what writes the lines of more, with their number of sentences."""
    if options.input is None:
        yield 0, results.print_lines
    elif options.output is None:
        with results.progress(results.print_lines, len(lines), 0) as write:
            yield 0, write
    else:
        from nmt.commands.unfinished import explaining_a_stop, growing

        made_by = _decisive(options, checkpoints, lines)
        with (
            growing(options.output, made_by, resume=options.resume) as (done, write_file),
            explaining_a_stop(),
            results.progress(write_file, len(lines), done) as write,
        ):
            yield done, write


def _decisive(options: argparse.Namespace, checkpoints: Sequence[str], lines: Sequence[str]) -> dict[str, Any]:
    """All that decides what is written: what must be the same when an output is continued."""
    from nmt.commands.unfinished import decisive

    read = {"checkpoint": map(Path, checkpoints), "--dictionary": [options.dictionary] if options.dictionary else []}
    return decisive(
        options, (*SEARCH_OPTIONS, "max_length", "batch_size", "n_best", "json", "replace_unk", "prefix"), read, lines
    )


def _jobs(
    blocks: Iterator[list[str]], number: int, choose: Callable[[list[str]], tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], int, list[str]] | None]:
    """Blocks of sentences, each with its checkpoints and the number of its first one; None if standard input keeps
    workers waiting."""
    for block in blocks:
        yield (choose(block), number, block) if block else None
        number += len(block)


def _translated(
    options: argparse.Namespace,
    dictionary: dict[str, str] | None,
    jobs: Iterator[tuple[tuple[str, ...], int, list[str]] | None],
) -> Iterator[tuple[int, list[str]]]:
    """Of each block how many sentences it has, and their lines, in order."""
    translate = partial(_translate_block, options, dictionary)
    if options.workers == 1:
        return (translate(*job) for job in jobs if job is not None)
    return map_in_processes(translate, jobs, options.workers)


def _translate_block(
    options: argparse.Namespace,
    dictionary: dict[str, str] | None,
    checkpoints: tuple[str, ...],
    number: int,
    block: list[str],
) -> tuple[int, list[str]]:
    """`number` is that of the block's first sentence, from 0."""
    translator = _loaded(checkpoints, options)
    translations = translator.translate(
        block,
        beam_size=options.beam,
        length_penalty=options.length_penalty,
        max_length=options.max_length,
        batch_size=options.batch_size,
        precision=options.precision,
        vocabulary_selection=options.vocabulary_selection,
        sampling=sampling(options),
        n_best=options.n_best,
        replace_unk=options.replace_unk,
        dictionary=dictionary,
        attention=options.json or options.attention is not None,
        prefix=options.prefix,
    )
    results.warn(block, translations, number)
    if options.attention is not None:
        with prefix_errors_with("--attention: "):
            translations[0].plot(options.attention)
    return len(block), results.lines_of(translations, number, options)
