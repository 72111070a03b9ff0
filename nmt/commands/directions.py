"""Which bundled model translates: the one that --from and --to name, or else the one for the language of the text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nmt.commands.options import Parser
from nmt.system import bundled
from nmt.system.errors import UserError

CHARACTERS = 10_000  # of a text: enough to know its language


def add_direction_options(parser: Parser) -> None:
    parser.add_argument(
        "--from",
        dest="from_language",
        metavar="CODE",
        help="without a CHECKPOINT: translate from this language, de or en (default: the text's)",
    )
    parser.add_argument(
        "--to", dest="to_language", metavar="CODE", help="without a CHECKPOINT: translate to this language, en or de"
    )


def has_words(line: str) -> bool:
    return any(map(str.isalpha, line))


def given_or_bundled(options: argparse.Namespace, checkpoints: list[str], text: Sequence[str]) -> list[str]:
    """The checkpoints that were given, or else the bundled one for some text. Raises `UserError` if both are named."""
    if checkpoints and (options.from_language or options.to_language):
        raise UserError("--from and --to choose a bundled model, and a CHECKPOINT was given: leave one of them out")
    return checkpoints or [str(bundled_checkpoint(options, text))]


def text_decides(options: argparse.Namespace) -> bool:
    """Whether the bundled model depends on the text: there are several, and neither --from nor --to is given."""
    return len(bundled.models()) > 1 and not (options.from_language or options.to_language)


def at_a_prompt(options: argparse.Namespace) -> Callable[[Sequence[str]], tuple[str]]:
    """A function that chooses the bundled model for a sentence: where its language is unclear, the last one again."""
    last = bundled_checkpoint(options, [])

    def choose(sentence: Sequence[str]) -> tuple[str]:
        nonlocal last
        last = bundled_checkpoint(options, sentence, otherwise=last)
        return (str(last),)

    return choose


def bundled_checkpoint(options: argparse.Namespace, text: Sequence[str], otherwise: Path | None = None) -> Path:
    """The bundled model for some text, or for text that is not known yet.

    Without --from and --to, and with models for several languages, the text's own language decides; where it does not
    show, it is `otherwise`; without that it is the first model, and a line on standard error says so.

    Raises `UserError` if there is no model for the direction.
    """
    models = bundled.models()
    asked = {0: options.from_language, 1: options.to_language}
    if len(models) < 2 and not any(asked.values()):
        return bundled.MODEL
    fitting = {
        languages: path
        for languages, path in models.items()
        if all(code in (None, languages[side]) for side, code in asked.items())
    }
    if not fitting:
        known = ", ".join("→".join(languages) for languages in models)
        wanted = "→".join(code or "any language" for code in asked.values())
        raise UserError(f"--from, --to: no bundled model translates {wanted} (there is {known}): give a CHECKPOINT")
    default = bundled.MODEL if bundled.MODEL in fitting.values() else next(iter(fitting.values()))
    sources = list(dict.fromkeys(source for source, _ in fitting))
    if len(sources) == 1 or not text:
        return default

    from nmt.text.language import likeliest_language

    found = likeliest_language(" ".join(text)[:CHARACTERS], sources)
    if found is None and otherwise is not None:
        return otherwise
    if found is None:
        code = next(source for (source, _), path in fitting.items() if path == default)
        print(f"The language of the text is unclear: translating from {code} (--from CODE decides)", file=sys.stderr)
        return default
    return next(path for (source, _), path in fitting.items() if source == found)
