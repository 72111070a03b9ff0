"""nmt evaluate: score checkpoints on a test set, by source length too, and compare them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import (
    Parser,
    add_data_folder,
    add_plain,
    add_search_options,
    positive,
    refuse_twice,
    search_settings,
    set_threads,
    split_config,
)
from nmt.system import files
from nmt.system.errors import UserError
from nmt.system.streams import output_is_closed

if TYPE_CHECKING:
    from nmt.config.run import Config
    from nmt.evaluation.checkpoints import TestSet


def parser() -> Parser:
    parser = Parser(
        prog="nmt evaluate", description="Score checkpoints on a test set, by source length too, and compare them."
    )
    parser.add_argument("checkpoints", nargs="*", metavar="CHECKPOINT", help="each is compared with the first")
    ensemble = "evaluate these as one model"
    parser.add_argument("--ensemble", nargs="+", default=[], metavar="CHECKPOINT", help=ensemble)
    test_set = parser.add_argument_group("test set")
    text = test_set.add_mutually_exclusive_group()
    split = "test, validation, train, or one of Multi30k by its name, such as test_2017_flickr (default: test)"
    text.add_argument("--split", metavar="NAME", help=split)
    published = "score on sacreBLEU's own copy of a test set, such as multi30k/2016 or wmt14"
    text.add_argument("--sacrebleu", metavar="NAME", help=published)
    text.add_argument("--source", type=Path, metavar="FILE", help="translate this file instead of a split")
    test_set.add_argument("--reference", type=Path, metavar="FILE", help="the reference translation of --source")
    add_data_folder(test_set)
    parser.add_argument("--buckets", type=_edges, metavar="10,20,…", help="upper ends of the length buckets")
    output = "write evaluation.json, CSV, figures and translations there"
    parser.add_argument("--output", type=Path, metavar="DIR", help=output)
    links = "score the attention against these gold word links (such as 0-0 1?2)"
    parser.add_argument("--alignment", type=Path, metavar="FILE", help=links)
    words = "the words that links count and heat maps show (default: spacy)"
    parser.add_argument("--alignment-words", choices=("spacy", "whitespace"), help=words)
    heat_map = "draw every model's attention for that line, counted from 1"
    parser.add_argument("--heat-map", type=positive, metavar="LINE", help=heat_map)
    metric = "also compute this learned score, if its package is installed; may be repeated"
    parser.add_argument("--metric", action="append", choices=("comet", "bertscore"), default=[], help=metric)
    add_search_options(parser)
    add_plain(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Score checkpoints on a test set, by source length, and compare them."""
    _check(options)

    from nmt.checkpoint import contents as checkpoint
    from nmt.evaluation import checkpoints
    from nmt.evaluation.mechanisms import mechanism
    from nmt.system.device import choose_device
    from nmt.translator import Translator

    set_threads(options.threads)
    device = choose_device(options.device)
    loaded = {path: checkpoint.load(path, device) for path in dict.fromkeys([*options.checkpoints, *options.ensemble])}
    configs = {path: contents.config for path, contents in loaded.items()}
    first = next(iter(configs.values()))
    languages = (first.data.source.language, first.data.target.language)
    test_set = _test_set(options, configs, languages)
    translators = {path: Translator.of({path: loaded[path]}, fast=not options.plain) for path in options.checkpoints}
    if options.ensemble:
        ensemble = {path: loaded[path] for path in options.ensemble}
        translators[f"ensemble of {len(ensemble)}"] = Translator.of(ensemble, fast=not options.plain)
    mechanisms = {path: mechanism(configs[path].model) for path in options.checkpoints}
    if options.heat_map is not None:
        checkpoints.check_heat_map(translators, test_set, options.heat_map)
    table = checkpoints.evaluate(
        translators,
        test_set,
        languages=languages,
        edges=options.buckets or first.evaluation.length_edges,
        output=options.output,
        search=search_settings(options),
        mechanisms=mechanisms,
        metrics=tuple(dict.fromkeys(options.metric)),
    )
    print(table)
    if options.heat_map is not None:
        figures = checkpoints.heat_maps(
            translators, test_set, options.heat_map, languages=languages, mechanisms=mechanisms
        )
        print("Written:", *checkpoints.write_heat_maps(figures, options.heat_map, options.output))
    return 0


def _test_set(options: argparse.Namespace, configs: dict[str, Config], languages: tuple[str, str]) -> TestSet:
    """The test set that the options name, with the words of its pairs if they are needed."""
    from nmt.evaluation import checkpoints
    from nmt.evaluation.alignment import word_pairs

    checkpoints.check_same_languages(configs)
    if options.sacrebleu is not None:
        from nmt.evaluation.published import published_test_set

        test_set = published_test_set(options.sacrebleu, languages)
    elif options.source is not None:
        test_set = checkpoints.file_test_set(options.source, options.reference)
    else:
        split, first = options.split or "test", next(iter(configs.values()))
        checkpoints.check_same_corpus(configs, split)
        test_set = checkpoints.corpus_test_set(first.model_copy(update={"data": split_config(options, first)}), split)
    if options.alignment is not None or options.heat_map is not None:
        words = word_pairs(test_set.text, languages, options.alignment_words or "spacy", options.alignment)
        test_set = replace(test_set, words=words)
    return test_set


def _check(options: argparse.Namespace) -> None:
    """Raise `UserError` if options exclude each other, before anything is loaded."""
    from nmt.evaluation.by_length import check_edges
    from nmt.evaluation.learned import check_installed

    check_edges(options.buckets or ())
    if (options.source is None) != (options.reference is None):
        raise UserError("--source and --reference go together: give both files, or neither")
    if options.data_folder is not None and (options.source or options.sacrebleu):
        raise UserError("--data-folder is for a split of the corpus: leave it out")
    for metric in options.metric:
        check_installed(metric)
    if not options.checkpoints and not options.ensemble:
        raise UserError(
            "no CHECKPOINT given: name one, such as checkpoints/NAME/best.safetensors, or several with --ensemble"
        )
    refuse_twice(options.checkpoints)
    refuse_twice(options.ensemble)
    if options.heat_map is not None and options.output is None:
        raise UserError("--heat-map needs a folder for its figures: give --output DIR")
    if options.alignment_words is not None and options.alignment is None and options.heat_map is None:
        raise UserError("--alignment-words goes with --alignment or --heat-map: add one of them, or leave it out")
    if options.output is not None:
        if (options.output / "evaluation.json").exists():
            raise UserError(f"{options.output} already holds an evaluation: choose another --output, or remove it")
        files.require_writable(options.output)
    elif output_is_closed():
        raise UserError("standard output is closed, so the scores would be lost: give --output DIR")


def _edges(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 10,20,30") from None
