"""What `nmt translate` makes of translations: lines, where they are written, and how far it is."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nmt.system.wording import counted, truncate
from nmt.text.vocabulary import EOS_TOKEN

if TYPE_CHECKING:
    from nmt.decoding.translation import Translation


def lines_of(translations: Sequence[Translation], first: int, options: argparse.Namespace) -> list[str]:
    """The lines of some sentences, of which `first` is the number of the first, counted from 0."""
    return [
        line for number, translation in enumerate(translations, first) for line in _lines(translation, number, options)
    ]


def _lines(translation: Translation, number: int, options: argparse.Namespace) -> list[str]:
    """A sentence's lines: its text; JSON; or, for lists of the N best, Moses' `number ||| text ||| score`."""
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
    if translation.levels is not None:
        of_segments, within = translation.levels
        entry["segments"] = list(translation.segments or ())
        entry["segment_attention"], entry["word_attention"] = of_segments.tolist(), within.tolist()
    if translation.n_best:
        entry["n_best"] = [_as_json(alternative) for alternative in translation.n_best]
    return entry


def warn(sentences: Sequence[str], translations: Sequence[Translation], first: int) -> None:
    """Say on standard error which translations are not to be trusted. `first` is the number of the first, from 0."""
    for number, (sentence, translation) in enumerate(zip(sentences, translations, strict=True), first + 1):
        if translation.is_unlike_training:
            about = f"sentence {number} is unlike the text that this model was trained on"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)
        if translation.tokens and translation.tokens[-1] != EOS_TOKEN:
            most = counted(len(translation.tokens), "token")
            about = f"the translation of sentence {number} was cut off after {most} (raise --max-length)"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)


def print_lines(_: int, lines: Sequence[str]) -> None:
    """Write the lines of a block to standard output, at once."""
    print("\n".join(lines), flush=True)


@contextmanager
def progress(
    write: Callable[[int, Sequence[str]], None], total: int, done: int
) -> Iterator[Callable[[int, Sequence[str]], None]]:
    """The same `write`, which also keeps a progress bar on standard error up to date: lines a second, time left.

    There is a bar only if standard error is a terminal.
    """
    if not sys.stderr.isatty():
        yield write
        return
    from tqdm import tqdm

    width = min(100, shutil.get_terminal_size().columns)
    with tqdm(total=total, initial=done, unit=" lines", ncols=width, file=sys.stderr) as bar:

        def written(sentences: int, lines: Sequence[str]) -> None:
            with tqdm.external_write_mode(file=sys.stdout):  # the bar makes way for lines in the same terminal
                write(sentences, lines)
            bar.update(sentences)

        yield written
