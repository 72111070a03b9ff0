"""What `nmt translate --document FILE` does."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nmt import addons
from nmt.commands import options as shared
from nmt.commands import output, sentences
from nmt.documents import document as documents
from nmt.system import files
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.wording import counted
from nmt.text.corpus import report_read_errors

if TYPE_CHECKING:
    from nmt.decoding.translation import Translation

# Options of nmt translate that a document cannot have, and their values where they are left out.
_REFUSED = {
    "input": None,
    "resume": False,
    "workers": 1,
    "n_best": 1,
    "json": False,
    "attention": None,
    "pieces": False,
    "alignment": False,
    "check_words": False,
    "prefix": None,
}


def run(options: argparse.Namespace, checkpoints: Sequence[str], text: Sequence[str]) -> int:
    """Translate `options.document`. Raises `UserError` for options that do not go with it, and what cannot be read."""
    path: Path = options.document
    _check(options, text)
    room = addons.offered("translate_options")
    settings = (room.settings(options) if room is not None else {}) | shared.search_settings(options)
    if options.output is not None:
        files.require_new(options.output)
    content = _content(path)
    with prefix_errors_with(f"{path}: "):
        document = documents.opened(content, path.suffix)
    options.detected = None
    models = sentences.choose_checkpoints(options, checkpoints, document.sample())
    shared.set_threads(options.threads)

    from nmt.translator import Translator

    translator = Translator.load(*models, device=options.device, fast=not options.plain)
    new = options.output or beside(path, *translator.languages)
    files.require_new(new)
    with prefix_errors_with(f"{path}: "):
        segments = document.segments(translator.languages)
    number = sum(bool(segment.text) for group in segments for segment in group)
    with _report(options.detected, len(documents.different(segments))) as report:
        translations = documents.translations_of(
            translator, segments, report, replace_unk=options.replace_unk, attention=False, **settings
        )
    files.write(new, documents.finished(document, segments, translations))
    print(f"{new}: {counted(number, 'text')} translated", file=sys.stderr)
    return 0


def beside(path: Path, source: str, target: str) -> Path:
    """Where a translation goes: `guide.md` becomes `guide.de.md`, and `guide.en.md` and `guide.en-GB.md` too."""
    stem = re.sub(rf"[._-]{re.escape(source)}([-_][A-Za-z]{{2,4}})?$", "", path.stem, flags=re.IGNORECASE)
    return path.with_name(f"{stem or path.stem}.{target}{path.suffix}")


def _check(options: argparse.Namespace, text: Sequence[str]) -> None:
    """Raise `UserError` for options that a document cannot have."""
    if text:
        raise UserError("TEXT and --document exclude each other: give one of them")
    for name, default in _REFUSED.items():
        if getattr(options, name) != default:
            raise UserError(f"--{name.replace('_', '-')} does not go with --document: leave one of them out")
    name = documents.format_of(options.document.suffix)
    if getattr(options, "markup", False) and name not in documents.PLAIN:
        raise UserError(f"--markup: tags in {options.document.suffix} are markup already: leave it out")


def _content(path: Path) -> bytes:
    with report_read_errors(path), path.open("rb") as file:
        return file.read(documents.LARGEST + 1)


@contextmanager
def _report(detected: str | None, total: int) -> Iterator[documents.Report]:
    """What warns of doubtful translations, and moves a progress bar on standard error if that is a terminal."""
    from tqdm import tqdm

    done = 0
    with tqdm(total=total, unit=" texts", file=sys.stderr, disable=None) as bar:

        def report(texts: Sequence[str], translations: Sequence[Translation]) -> None:
            nonlocal done
            with tqdm.external_write_mode(file=sys.stderr):
                output.warn(texts, translations, done, detected)
            done += len(texts)
            bar.update(len(texts))

        yield report
