"""The options of `nmt translate` for what must be in a translation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nmt.constraints.glossary import Glossary
from nmt.constraints.mnemonics import CHOICES
from nmt.constraints.protect import expressions
from nmt.text.corpus import read_lines


def add_to(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("constraints").add_argument
    glossary = "a file of terms and their required translations (source, tab, target)"
    add("--glossary", metavar="FILE", help=glossary)
    protect = (
        "copy what matches, in addition to what the model was trained to copy: a regular expression, all, "
        "placeholders, urls, emails, paths or numbers; may be repeated"
    )
    add("--protect", metavar="PATTERN", action="append", help=protect)
    add("--keep", metavar="FILE", help="a file of names to copy, one per line")
    markup = "translate HTML or XML: tags are put around the aligned words, entities are kept"
    add("--markup", action="store_true", help=markup)
    marker = "keep the marker of a menu's access key (_File, &File, ~File): auto, _, & or ~ (default: auto)"
    add("--mnemonics", nargs="?", const="auto", choices=CHOICES, metavar="MARKER", help=marker)


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Further arguments of `ConstrainedTranslator.translate`. Raises `UserError` for files that cannot be used."""
    expressions(options.protect)
    return {
        "protect": options.protect,
        "glossary": Glossary.read(Path(options.glossary)) if options.glossary else None,
        "markup": options.markup,
        "mnemonics": options.mnemonics,
        "keep": [line for line in map(str.strip, read_lines(Path(options.keep))) if line] if options.keep else (),
    }


def files(options: argparse.Namespace) -> dict[str, Iterable[Path]]:
    """The files that decide what translations are, by option."""
    paths = {"--glossary": options.glossary, "--keep": options.keep}
    return {name: [Path(path)] for name, path in paths.items() if path}
