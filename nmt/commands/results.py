"""The output of `nmt translate`: lines, warnings and a progress bar."""

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


def format_lines(translations: Sequence[Translation], first: int, options: argparse.Namespace) -> list[str]:
    """The lines of some sentences: text; JSON; or, for lists of the N best, Moses' `number ||| text ||| score`.

    `first` is the number of the first sentence, counted from 0.
    """
    if options.json:
        return [json.dumps(_json_object(translation), ensure_ascii=False) for translation in translations]
    if options.n_best > 1:
        return [
            f"{number} ||| {t.text} ||| {t.score:.4f}"
            for number, translation in enumerate(translations, first)
            for t in translation.n_best or (translation,)
        ]
    return [translation.text for translation in translations]


def _json_object(translation: Translation) -> dict[str, Any]:
    entry: dict[str, Any] = {name: getattr(translation, name) for name in ("text", "tokens", "source_tokens", "score")}
    entry["attention"] = None if translation.attention is None else translation.attention.tolist()
    if translation.levels is not None:
        of_segments, within = translation.levels
        entry["segments"] = list(translation.segments or ())
        entry["segment_attention"], entry["word_attention"] = of_segments.tolist(), within.tolist()
    if translation.n_best:
        entry["n_best"] = [_json_object(alternative) for alternative in translation.n_best]
    return entry


def warn(sentences: Sequence[str], translations: Sequence[Translation], first: int) -> None:
    """Report doubtful translations on standard error. `first` is the number of the first sentence, from 0."""
    for number, (sentence, translation) in enumerate(zip(sentences, translations, strict=True), first + 1):
        if translation.is_unlike_training:
            about = f"sentence {number} is unlike the text that this model was trained on"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)
        if translation.tokens and translation.tokens[-1] != EOS_TOKEN:
            length = counted(len(translation.tokens), "token")
            about = f"the translation of sentence {number} was cut off after {length} (raise --max-length)"
            print(f"{about}: {truncate(sentence)}", file=sys.stderr)


def print_lines(_: int, lines: Sequence[str]) -> None:
    """Write the lines of a block to standard output, immediately."""
    print("\n".join(lines), flush=True)


@contextmanager
def progress(
    write: Callable[[int, Sequence[str]], None], total: int, done: int
) -> Iterator[Callable[[int, Sequence[str]], None]]:
    """The same `write`, which also updates a progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield write
        return
    from tqdm import tqdm

    width = min(100, shutil.get_terminal_size().columns)
    with tqdm(total=total, initial=done, unit=" lines", ncols=width, file=sys.stderr) as bar:

        def write_and_update(sentences: int, lines: Sequence[str]) -> None:
            with tqdm.external_write_mode(file=sys.stdout):  # the bar makes way for lines in the same terminal
                write(sentences, lines)
            bar.update(sentences)

        yield write_and_update
