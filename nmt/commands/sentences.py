"""Where `nmt translate` takes its sentences from, and which bundled model translates them."""

import argparse
import os
import select
import sys
from collections.abc import Iterator, Sequence
from itertools import tee
from pathlib import Path

from nmt.commands.options import Parser
from nmt.system import bundled
from nmt.system.errors import UserError
from nmt.text.corpus import LONGEST_LINE

BLOCK = 512  # sentences that are translated together: enough to batch well, few enough to see results soon
_CHUNK = 1 << 16  # bytes: as much as a pipe holds
_CHARACTERS = 10_000  # of a text: enough to detect its language


def in_blocks(sentences: Sequence[str], first: int = 0) -> Iterator[list[str]]:
    """The sentences from number `first` on, `BLOCK` at a time."""
    for start in range(first, len(sentences), BLOCK):
        yield list(sentences[start : start + BLOCK])


def stream_blocks(descriptor: int) -> Iterator[list[str]]:
    """The lines of an open file as they arrive: each block has those that have come since the last one, 1 to `BLOCK`.

    So a line is translated as soon as it can be, and the lines of a fast writer still share blocks. Lines end at "\\n"
    alone, as in a text file.

    Raises `UserError` for a line that is not valid UTF-8, and for one that is too long.
    """
    rest, at_end, number = b"", False, 0  # a line whose end has not arrived; the number of the last line
    while not at_end:
        try:
            if sys.platform != "win32":
                select.select([descriptor], [], [])  # a descriptor that does not block has nothing to read before
            chunk = os.read(descriptor, _CHUNK)
        except OSError as error:  # as nohup has it
            raise UserError(f"standard input cannot be read ({error.strerror}): give TEXT or --input FILE") from None
        at_end = not chunk
        *lines, rest = (rest + chunk).split(b"\n")
        if max(map(len, [*lines, rest])) > LONGEST_LINE:
            raise UserError(f"standard input: a line of more than {LONGEST_LINE:,} bytes: give one sentence per line")
        if at_end and rest:
            lines.append(rest)
        yield from in_blocks([_decoded(line, number + i) for i, line in enumerate(lines, start=1)])
        number += len(lines)


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise UserError(f"standard input, line {number}: not valid UTF-8 text; convert it to UTF-8") from None


def add_direction_options(parser: Parser) -> None:
    add = parser.add_argument_group("bundled models, without a CHECKPOINT").add_argument
    add("--from", dest="from_language", metavar="CODE", help="translate from this language (default: detected)")
    add("--to", dest="to_language", metavar="CODE", help="translate to this language, en or de")


def first_text(blocks: Iterator[list[str]]) -> tuple[list[str], Iterator[list[str]]]:
    """The first block of sentences with a letter, from which the language is detected, and all blocks."""
    blocks, ahead = tee(blocks)
    return next((block for block in ahead if any(map(str.isalpha, "".join(block)))), []), blocks


def choose_checkpoints(options: argparse.Namespace, checkpoints: Sequence[str], text: Sequence[str]) -> tuple[str, ...]:
    """The checkpoints of the command line, or else the bundled one for a text; for an empty text, the first one.

    Where the language of the text is unclear, it is the first model, and a line on standard error says so. Raises
    `UserError` if a checkpoint and a direction are given, or if no bundled model has the direction.
    """
    if checkpoints and (options.from_language or options.to_language):
        raise UserError("--from and --to choose a bundled model, but a CHECKPOINT was given: leave one of them out")
    if checkpoints:
        return tuple(checkpoints)
    models = _bundled_models(options.from_language, options.to_language)
    first = (str(next(iter(models.values()))),)
    if len(models) == 1 or not text:
        return first

    from nmt.text.language import likeliest_language

    language = likeliest_language(" ".join(text)[:_CHARACTERS], list(models))
    if language is not None:
        options.detected = language
        return (str(models[language]),)
    print(f"The language is unclear: translating from {next(iter(models))}; --from CODE sets it", file=sys.stderr)
    return first


def _bundled_models(source: str | None, target: str | None) -> dict[str, Path]:
    """The bundled models with a direction (None: any language), by the languages from which they translate."""
    directions = bundled.models()
    models: dict[str, Path] = {}
    for pair, path in directions.items():
        if source in (None, pair[0]) and target in (None, pair[1]):
            models.setdefault(pair[0], path)
    if not models and (source or target):
        available = ", ".join(map("→".join, directions))
        requested = f"{source or 'any language'}→{target or 'any language'}"
        raise UserError(f"no bundled model translates {requested} (there is {available}): give a CHECKPOINT")
    return models or {"": bundled.MODEL}
