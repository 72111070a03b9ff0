"""Score checkpoints on a test set, also by source length, and compare them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands import options as shared
from nmt.commands.options import Parser
from nmt.system import files
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.config.run import Config
    from nmt.evaluation.checkpoints import TestSet


def parser() -> Parser:
    parser = Parser(prog="nmt evaluate", description=__doc__)
    add = parser.add_argument
    add("checkpoints", nargs="*", metavar="CHECKPOINT", help="models, each compared with the first")
    add("--ensemble", nargs="+", default=[], metavar="CHECKPOINT", help="evaluate these as one model")
    test_set = parser.add_argument_group("test set")
    text = test_set.add_mutually_exclusive_group().add_argument
    text(
        "--split", metavar="NAME", help="split: test (default), validation, train; of Multi30k also test_2017_flickr, …"
    )
    text("--source", type=Path, metavar="FILE", help="translate this file instead of a split")
    test_set.add_argument("--reference", type=Path, metavar="FILE", help="the reference translation of --source")
    shared.add_data_folder(test_set)
    add("--output", type=Path, metavar="DIR", help="write evaluation.json, figures and translations there")
    add("--gold", "--alignment", type=Path, metavar="FILE", help="score attention against gold word links (0-0 1?2 …)")
    add("--alignment-words", choices=("spacy", "whitespace"), help="the links' words (default: spacy)")
    shared.add_search_options(parser.add_argument_group("search"))
    shared.add_device_options(parser)
    add("--plain", action="store_true", help="plain PyTorch, without nmt.fast")
    return parser


def run(options: argparse.Namespace) -> int:
    _check(options)

    from nmt.checkpoint import contents as checkpoint
    from nmt.evaluation import checkpoints
    from nmt.system.device import choose_device
    from nmt.translator import Translator

    shared.set_threads(options.threads)
    device = choose_device(options.device)
    loaded = {path: checkpoint.load(path, device) for path in dict.fromkeys([*options.checkpoints, *options.ensemble])}
    configs = {path: contents.config for path, contents in loaded.items()}
    first = next(iter(configs.values()))
    languages = (first.data.source.language, first.data.target.language)
    test_set = _test_set(options, configs, languages)
    systems = {path: [path] for path in options.checkpoints}
    if options.ensemble:
        systems[f"ensemble of {len(options.ensemble)}"] = options.ensemble
    translators = {
        name: Translator.of({path: loaded[path] for path in paths}, fast=not options.plain)
        for name, paths in systems.items()
    }
    table = checkpoints.evaluate(
        translators,
        test_set,
        languages=languages,
        edges=first.evaluation.length_edges,
        output=options.output,
        search=shared.search_settings(options),
    )
    print(table)
    return 0


def _test_set(options: argparse.Namespace, configs: dict[str, Config], languages: tuple[str, str]) -> TestSet:
    """The test set that the options name, with the words of its pairs if they are needed."""
    from nmt.evaluation import checkpoints
    from nmt.evaluation.alignment import word_pairs

    split = None if options.source else options.split or "test"
    checkpoints.check_comparable(configs, split)
    if split is None:
        test_set = checkpoints.file_test_set(options.source, options.reference, languages)
    else:
        first = next(iter(configs.values()))
        data = shared.corpus_config(options, first)
        test_set = checkpoints.corpus_test_set(first.model_copy(update={"data": data}), split)
    if options.gold is None:
        return test_set
    words = word_pairs(test_set.text, languages, options.alignment_words or "spacy", options.gold)
    return replace(test_set, words=words)


def _check(options: argparse.Namespace) -> None:
    """Raise `UserError` if options exclude each other, before anything is loaded."""
    if not options.checkpoints and not options.ensemble:
        raise UserError("no CHECKPOINT given: name one, or several with --ensemble")
    shared.refuse_alone(options, {"source": "reference", "reference": "source", "alignment_words": "gold"})
    if options.output is not None:
        if (options.output / "evaluation.json").exists():
            raise UserError(f"{options.output} already holds an evaluation: choose another --output, or remove it")
        files.require_writable(options.output)
