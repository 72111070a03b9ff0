"""Which bundled model translates: the one that --from and --to name, or else the one for the language of the text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import tee
from pathlib import Path

from nmt.commands.options import Parser
from nmt.system import bundled
from nmt.system.errors import UserError

CHARACTERS = 10_000  # of a text: enough to detect its language


def add_direction_options(parser: Parser) -> None:
    group = parser.add_argument_group("bundled models, without a CHECKPOINT")
    text = "translate from this language, de or en (default: detected)"
    group.add_argument("--from", dest="from_language", metavar="CODE", help=text)
    group.add_argument("--to", dest="to_language", metavar="CODE", help="translate to this language, en or de")


def first_text(blocks: Iterator[list[str]]) -> tuple[list[str], Iterator[list[str]]]:
    """The first block of sentences with a letter, from which the language is detected, and all blocks."""
    blocks, ahead = tee(blocks)
    return next((block for block in ahead if any(map(str.isalpha, "".join(block)))), []), blocks


def choose_checkpoints(options: argparse.Namespace, checkpoints: list[str], text: Sequence[str]) -> tuple[str, ...]:
    """The checkpoints of the command line, or else the bundled one for a text.

    Raises `UserError` if a checkpoint and a direction are given, or if no bundled model has the direction.
    """
    if checkpoints and (options.from_language or options.to_language):
        raise UserError("--from and --to choose a bundled model, but a CHECKPOINT was given: leave one of them out")
    return tuple(checkpoints) or (str(bundled_checkpoint(options, text)),)


def depends_on_text(options: argparse.Namespace) -> bool:
    """Whether the language of the text chooses the bundled model: neither --from nor --to is given."""
    return len(bundled.models()) > 1 and not (options.from_language or options.to_language)


def prompt_chooser(options: argparse.Namespace) -> Callable[[Sequence[str]], tuple[str]]:
    """A function that chooses the bundled model for a sentence: the previous one where its language is unclear."""
    previous = bundled_checkpoint(options, [])

    def choose(sentence: Sequence[str]) -> tuple[str]:
        nonlocal previous
        previous = bundled_checkpoint(options, sentence, previous)
        return (str(previous),)

    return choose


def bundled_checkpoint(options: argparse.Namespace, text: Sequence[str], default: Path | None = None) -> Path:
    """The bundled model for a text; for an empty text, the first one with the direction of --from and --to.

    Where the language of the text is unclear, it is `default`; without that the first model, and a line on standard
    error says so. Raises `UserError` if there is no model for the direction.
    """
    models = bundled.models()
    direction = options.from_language, options.to_language
    if len(models) < 2 and not any(direction):
        return bundled.MODEL
    matching = {
        pair: path
        for pair, path in models.items()
        if all(code in (None, language) for code, language in zip(direction, pair, strict=True))
    }
    if not matching:
        available = ", ".join(map("→".join, models))
        requested = "→".join(code or "any language" for code in direction)
        raise UserError(
            f"--from, --to: no bundled model translates {requested} (there is {available}): give a CHECKPOINT"
        )
    first = next(iter(matching.values()))
    sources = list(dict.fromkeys(source for source, _ in matching))
    if len(sources) == 1 or not text:
        return first

    from nmt.text.language import likeliest_language

    language = likeliest_language(" ".join(text)[:CHARACTERS], sources)
    if language is not None:
        return next(path for (source, _), path in matching.items() if source == language)
    if default is None:
        print(
            f"The language of the text is unclear: translating from {sources[0]}; --from CODE sets it", file=sys.stderr
        )
    return default or first
