"""nmt translate: sentences of the command line, a file, standard input, or a prompt; only translations on stdout."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.commands.options import Parser, add_search_options, positive, set_threads
from nmt.system import bundled, files
from nmt.system.errors import UserError
from nmt.system.parallel import in_parallel
from nmt.system.startup import kept_for_good

if TYPE_CHECKING:
    from nmt.translator import Translation, Translator

SHIPPED = bundled.MODEL
LINES_AT_ONCE = 512  # of a file or standard input: enough to batch well, few enough to see results soon


def parser() -> Parser:
    parser = Parser(
        prog="nmt translate",
        description="Translate sentences of the command line, a file, standard input, or a prompt.",
    )
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="[CHECKPOINT …] [TEXT …]",
        help="checkpoints, such as checkpoints/quickstart/best.pt (several translate as an ensemble; none: the one for "
        "German→English that nmt comes with), then sentences (none: standard input or a prompt)",
    )
    parser.add_argument("--input", type=Path, metavar="FILE", help="translate a file's lines, .gz or plain")
    parser.add_argument(
        "--n-best", type=positive, default=1, metavar="N", help="print the N best: number ||| text ||| score"
    )
    parser.add_argument("--json", action="store_true", help="an object a line: text, tokens, score, attention")
    parser.add_argument("--attention", type=Path, metavar="FILE", help="draw the attention as .png or .svg")
    parser.add_argument("--replace-unk", action="store_true", help="copy the source word where the model knows none")
    parser.add_argument(
        "--dictionary",
        type=Path,
        metavar="FILE",
        help="with --replace-unk: two columns, source word and its translation (the first listed), put in its place",
    )
    parser.add_argument("--max-length", type=positive, metavar="N", help="target tokens at most")
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that share a file's lines",
    )
    parser.add_argument("--batch-size", type=positive, metavar="N", help="sentences searched at once")
    add_search_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Translate."""
    checkpoints, text = _told_apart(options.arguments)
    if options.attention is not None:
        from nmt.evaluation.plots import check_picture

        check_picture(options.attention)
        files.make_folder(options.attention.parent)
        if len(text) != 1:
            raise UserError(f"--attention draws one sentence, and {len(text)} were given: quote one as TEXT")
    if text and options.input:
        raise UserError("TEXT and --input exclude each other: give one of them")
    if options.dictionary is not None and not options.replace_unk:
        raise UserError("--dictionary serves --replace-unk alone: give both options, or neither")
    dictionary = None
    if options.dictionary is not None:
        from nmt.text.unknown_words import read_dictionary

        dictionary = read_dictionary(options.dictionary)
    if options.workers > 1:
        options.threads = options.threads or max(1, (os.cpu_count() or 1) // options.workers)
    with kept_for_good():
        translator = _load(checkpoints, options)
    if options.attention is not None and not translator.has_attention:
        raise UserError("--attention: this model has no attention (model.attention.wiring: none)")
    at_once = LINES_AT_ONCE
    if text:
        sentences: Iterator[str] = iter(text)
    elif options.input:
        from nmt.text.corpus import read_lines

        sentences = iter(read_lines(options.input))
    elif sys.stdin is None:
        raise UserError("there is no standard input to read: give TEXT or --input FILE")
    elif sys.stdin.isatty():
        sentences, at_once = _prompt(), 1
    else:
        sentences = _standard_input()
    parts = ((options, dictionary, number, part) for number, part in _parts(sentences, at_once))
    translated: Iterator[list[str]]
    if options.workers == 1 or at_once == 1:
        translated = starmap(partial(_lines, translator), parts)
    else:
        translated = in_parallel(partial(_lines_of_worker, tuple(checkpoints)), parts, options.workers)
    for lines in translated:
        print("\n".join(lines), flush=True)
    return 0


def _parts(sentences: Iterator[str], size: int) -> Iterator[tuple[int, list[str]]]:
    """So many sentences at a time, with the number of the first, from 0."""
    number = 0
    while part := list(islice(sentences, size)):
        yield number, part
        number += len(part)


def _load(checkpoints: Sequence[str], options: argparse.Namespace) -> Translator:
    from nmt.translator import Translator

    set_threads(options.threads)
    return Translator.load(*checkpoints, device=options.device)


def _lines(
    translator: Translator,
    options: argparse.Namespace,
    dictionary: dict[str, str] | None,
    number: int,
    sentences: list[str],
) -> list[str]:
    """The lines that are printed for some sentences; `number` is that of the first."""
    translations = _translate(translator, sentences, options, dictionary)
    return [line for n, translation in enumerate(translations, number) for line in _formatted(translation, n, options)]


_of_worker: list[Translator] = []  # that a worker has loaded


def _lines_of_worker(checkpoints: tuple[str, ...], options: argparse.Namespace, *rest: Any) -> list[str]:
    if not _of_worker:
        _of_worker.append(_load(checkpoints, options))
    return _lines(_of_worker[0], options, *rest)


def _told_apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Checkpoints, which come first and end in .pt, and sentences. Any other file in the first place is a mistake."""
    count = 1 if arguments and os.path.exists(arguments[0]) else 0  # Path.exists raises for a long sentence
    while count < len(arguments) and arguments[count].endswith(".pt"):
        count += 1
    if count == 0 and not SHIPPED.exists():
        raise UserError(f"no CHECKPOINT is named, and {SHIPPED} is missing: name one, such as checkpoints/NAME/best.pt")
    return arguments[:count] or [str(SHIPPED)], arguments[count:]


def _translate(
    translator: Translator, sentences: list[str], options: argparse.Namespace, dictionary: dict[str, str] | None
) -> list[Translation]:
    translations = translator.translate(
        sentences,
        beam_size=options.beam,
        length_penalty=options.length_penalty,
        max_length=options.max_length,
        batch_size=options.batch_size,
        precision=options.precision,
        n_best=options.n_best,
        replace_unk=options.replace_unk,
        dictionary=dictionary,
        attention=options.json or options.attention is not None,
    )
    if options.attention is not None:
        from nmt.evaluation.plots import attention_heat_map

        drawn = translations[0]
        if not drawn.tokens or drawn.attention is None:
            raise UserError("--attention: the sentence is empty, so there is nothing to draw; give one with words")
        attention_heat_map(drawn.attention.numpy(), drawn.source_tokens, drawn.tokens, options.attention)
    return translations


def _formatted(translation: Translation, number: int, options: argparse.Namespace) -> list[str]:
    """The lines of one sentence: its text; JSON; or, for n-best lists, Moses' `number ||| text ||| score`."""
    if options.json:
        return [json.dumps(_as_json(translation), ensure_ascii=False)]
    if options.n_best > 1:
        return [f"{number} ||| {t.text} ||| {t.score:.4f}" for t in translation.n_best or (translation,)]
    return [translation.text]


def _as_json(translation: Translation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "text": translation.text,
        "tokens": translation.tokens,
        "source_tokens": translation.source_tokens,
        "score": translation.score,
        "attention": None if translation.attention is None else translation.attention.tolist(),
    }
    if translation.n_best:
        entry["n_best"] = [_as_json(alternative) for alternative in translation.n_best]
    return entry


def _prompt() -> Iterator[str]:
    print("A sentence, then Enter. Ctrl-D ends.", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)  # not by input(), which may write it among the translations
        try:
            yield input()
        except EOFError:
            print(file=sys.stderr)
            return


def _standard_input() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):  # bytes end their lines at "\n" alone
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: not valid UTF-8 text; send UTF-8") from None
        yield text.removesuffix("\n").removesuffix("\r")
