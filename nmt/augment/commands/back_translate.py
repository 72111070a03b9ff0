"""nmt back-translate: training pairs from text in one language (Sennrich, Haddow and Birch 2016)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.checkpoint.address import local
from nmt.commands import output, sentences
from nmt.commands.options import (
    Parser,
    add_data_folder,
    add_decoding_options,
    content_options,
    corpus_config,
    positive,
    search_settings,
    set_threads,
    share_threads,
)
from nmt.config.yaml_text import in_yaml
from nmt.system import files
from nmt.system.errors import UserError
from nmt.system.process_pool import map_in_processes
from nmt.system.wording import counted

if TYPE_CHECKING:
    from nmt.config.run import Config
    from nmt.translator import Translator


def parser() -> Parser:
    parser = Parser(
        prog="nmt back-translate",
        description="Translate monolingual text, and write it with its translations as training pairs "
        "(data.source.extra and data.target.extra). Lines of validation and test sets, compared in lower case, are "
        "left out.",
    )
    add = parser.add_argument
    add("checkpoints", nargs="+", metavar="CHECKPOINT", help="the model that translates; several are an ensemble")
    text = "sentences in the model's source language: a file (plain or .gz), or multi30k_descriptions"
    add("--input", required=True, metavar="TEXT", help=text)
    output = "write NAME.LANGUAGE for both languages, such as NAME.de and NAME.en"
    add("--output", type=Path, required=True, metavar="NAME", help=output)
    add("--resume", action="store_true", help="continue an interrupted --output, with the same other options")
    add("--workers", type=positive, default=1, metavar="N", help="share the lines among N processes")
    add_data_folder(parser, "corpora are")
    add("--n-best", type=positive, default=1, metavar="N", help="pairs of each sentence: its N best translations")
    add_decoding_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the pairs. Raises `UserError` if the text cannot be read, or if the output is there already."""
    if not options.output.name:
        raise UserError(f"{options.output} is a folder: give --output a name to begin with, such as data/back")
    search_settings(options)
    share_threads(options)

    from nmt.augment.monolingual import load_monolingual

    _load.cache_clear()  # a file may have changed since the last call in this process
    _, checkpoint_config = _load(tuple(options.checkpoints), options.device, options.threads)
    config = corpus_config(options, checkpoint_config)
    languages = (config.source.language, config.target.language)
    if languages[0] == languages[1]:
        raise UserError(f"{options.checkpoints[0]} translates {languages[0]} to itself: give a model of two languages")
    text = load_monolingual(options.input, languages[0], config)
    lines = list(text)
    if not lines:
        raise UserError(f"{options.input}: all lines are empty, or in a validation or test set: give other text")
    outputs = [options.output.with_name(f"{options.output.name}.{language}") for language in languages]
    pairs = options.output.with_name(f"{options.output.name}.pairs")  # until all of them are there
    for path in outputs:
        if not (options.resume and output.note_path(pairs).exists()):
            files.require_new(path)
    names = (*content_options(), "n_best")
    made_by = output.fingerprint(options, names, {"checkpoint": map(Path, map(local, options.checkpoints))}, lines)
    with output.resumable_output(pairs, made_by, resume=options.resume) as (done, write_file):
        with output.progress(write_file, len(lines), done) as write:
            jobs = ((block,) for block in sentences.in_blocks(lines, done))
            for count, translated in map_in_processes(partial(_translate_block, options), jobs, options.workers):
                write(count, translated)
        written = _split(pairs, outputs)
    pairs.unlink()
    print(f"Written: {outputs[0]} and {outputs[1]}, {counted(written, 'pair')} of {counted(len(lines), 'line')}.")
    print(f"Left out: {counted(text.dropped(), 'line')} equal to one of a validation or test set, and empty ones.")
    print(f"\nIn the config of a model from {languages[1]} to {languages[0]}:\n\ndata:")
    extra = {"path": str(outputs[1]), "weight": 1, "tag": "<BT>"}
    print(f"  source:\n    extra: {in_yaml([extra])}\n  target:\n    extra: {in_yaml([str(outputs[0])])}")
    return 0


@cache
def _load(checkpoints: tuple[str, ...], device: str, threads: int | None) -> tuple[Translator, Config]:
    """The model of this process, and the config of the first checkpoint."""
    from nmt.checkpoint import contents as checkpoint
    from nmt.system.device import choose_device
    from nmt.translator import Translator

    set_threads(threads)
    loaded = {path: checkpoint.load(path, choose_device(device)) for path in checkpoints}
    return Translator.of(loaded), loaded[checkpoints[0]].config


def _translate_block(options: argparse.Namespace, block: list[str]) -> tuple[int, list[str]]:
    """The number of sentences in a block, and its pairs as lines of JSON."""
    translator, _ = _load(tuple(options.checkpoints), options.device, options.threads)
    translations = translator.translate(block, n_best=options.n_best, attention=False, **search_settings(options))
    pairs = [
        (line, one.text)
        for line, translation in zip(block, translations, strict=True)
        for one in translation.n_best or (translation,)
    ]
    return len(block), [json.dumps(pair, ensure_ascii=False) for pair in pairs if pair[1].strip()]


def _split(pairs: Path, outputs: Sequence[Path]) -> int:
    """Write each side of the pairs into a file of its own; returns how many pairs there are."""
    with (
        files.replace_atomically(outputs[0]) as source,
        files.replace_atomically(outputs[1]) as target,
        pairs.open("rb") as lines,
    ):
        count = 0
        for line in lines:
            count += 1
            for file, text in zip((source, target), json.loads(line), strict=True):
                file.write(f"{' '.join(text.split())}\n".encode())
    return count
