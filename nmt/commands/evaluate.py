"""nmt evaluate: score checkpoints on a test set, by source length too, and compare them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import (
    Parser,
    add_data_folder,
    add_search_options,
    check_data_folder,
    data_here,
    positive,
    refuse_twice,
    set_threads,
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
    parser.add_argument(
        "--ensemble",
        nargs="+",
        default=[],
        metavar="CHECKPOINT",
        help="evaluate these as one model",
    )
    parser.add_argument(
        "--split",
        metavar="NAME",
        help="which set: validation, test, one of Multi30k by its name, such as test_2017_flickr, or train, which the "
        "model has read (default: test)",
    )
    add_data_folder(parser)
    parser.add_argument(
        "--sacrebleu",
        metavar="NAME",
        help="score on sacreBLEU's own copy of a test set, such as multi30k/2016 or wmt14",
    )
    parser.add_argument("--source", type=Path, metavar="FILE", help="translate this file instead of a split")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="its reference translation")
    parser.add_argument("--buckets", type=_edges, metavar="10,20,…", help="upper ends of the length buckets")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write evaluation.json, CSV, pictures and translations there"
    )
    parser.add_argument(
        "--alignment", type=Path, metavar="FILE", help="score the attention by these gold word links (such as 0-0 1?2)"
    )
    parser.add_argument(
        "--alignment-words",
        choices=("spacy", "whitespace"),
        help="the words that links refer to and heat maps show (default: spacy)",
    )
    parser.add_argument(
        "--heat-map", type=positive, metavar="LINE", help="draw every model's attention for that line, counted from 1"
    )
    parser.add_argument(
        "--metric",
        action="append",
        choices=("comet", "bertscore"),
        default=[],
        help="score with this model, too, if its package is installed; may be repeated",
    )
    add_search_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Score checkpoints on a test set, by source length, and compare them."""
    _check_evaluate(options)

    from nmt.checkpoint import contents as checkpoint
    from nmt.evaluation import checkpoints
    from nmt.evaluation.mechanisms import mechanism
    from nmt.system.device import choose_device
    from nmt.translator import Translator

    set_threads(options.threads)
    device = choose_device(options.device)
    paths = dict.fromkeys([*options.checkpoints, *options.ensemble])
    loaded = {path: checkpoint.load(path, device) for path in paths}
    configs = {path: contents.config for path, contents in loaded.items()}
    first = configs[next(iter(paths))]
    languages = (first.data.source.language, first.data.target.language)
    test_set = _test_set(options, configs)
    translators = {path: Translator.of({path: loaded[path]}) for path in options.checkpoints}
    mechanisms = {path: mechanism(configs[path].model) for path in options.checkpoints}
    if options.ensemble:
        name = f"ensemble of {len(options.ensemble)}"
        translators[name] = Translator.of({path: loaded[path] for path in options.ensemble})
    if options.heat_map is not None:
        checkpoints.check_heat_map(translators, test_set, options.heat_map)
    table = checkpoints.evaluate(
        translators,
        test_set,
        languages=languages,
        edges=options.buckets or first.evaluation.length_edges,
        output=options.output,
        beam_size=options.beam,
        length_penalty=options.length_penalty,
        precision=options.precision,
        vocabulary_selection=options.vocabulary_selection,
        mechanisms=mechanisms,
        metrics=tuple(dict.fromkeys(options.metric)),
    )
    print(table)
    if options.heat_map is not None:
        pictures = checkpoints.draw_heat_map(
            translators, test_set, options.heat_map, options.output, languages=languages, mechanisms=mechanisms
        )
        print("Written:", ", ".join(map(str, pictures)))
    return 0


def _test_set(options: argparse.Namespace, configs: dict[str, Config]) -> TestSet:
    """The test set that the options name, with the words of its pairs if they are needed."""
    from nmt.evaluation import checkpoints
    from nmt.evaluation.alignment import word_pairs

    checkpoints.check_same_languages(configs)
    first = next(iter(configs.values()))
    languages = (first.data.source.language, first.data.target.language)
    if options.sacrebleu is not None:
        from nmt.evaluation.published import published_test_set

        test_set = published_test_set(options.sacrebleu, languages)
    elif options.source is not None:
        test_set = checkpoints.file_test_set(options.source, options.reference)
    else:
        split = options.split or "test"
        checkpoints.check_same_corpus(configs, split)
        here = first.model_copy(update={"data": data_here(options, first)})
        test_set = checkpoints.corpus_test_set(here, split)
    if options.alignment is not None or options.heat_map is not None:
        words = word_pairs(test_set.text, languages, options.alignment_words or "spacy", options.alignment)
        test_set = replace(test_set, words=words)
    return test_set


def _check_evaluate(options: argparse.Namespace) -> None:
    """Raise `UserError` if options exclude each other, before anything is loaded."""
    from nmt.evaluation.by_length import check_edges
    from nmt.evaluation.learned import check_installed

    if options.buckets is not None:
        check_edges(options.buckets)
    if (options.source is None) != (options.reference is None):
        raise UserError("--source and --reference go together: give both files, or neither")
    if options.source is not None and options.split is not None:
        raise UserError("--split and --source exclude each other: give a split of the corpus, or two files")
    if options.sacrebleu is not None and (options.split is not None or options.source is not None):
        raise UserError("--sacrebleu excludes --split and --source: give one of them")
    for metric in options.metric:
        check_installed(metric)
    if not options.checkpoints and not options.ensemble:
        raise UserError("no CHECKPOINT given: name one, such as checkpoints/NAME/best.pt, or several with --ensemble")
    for given in (options.checkpoints, options.ensemble):
        refuse_twice(given)
    if options.heat_map is not None and options.output is None:
        raise UserError("--heat-map needs a folder for its pictures: give --output DIR")
    if options.alignment_words is not None and options.alignment is None and options.heat_map is None:
        raise UserError("--alignment-words goes with --alignment or --heat-map: add one of them, or leave it out")
    check_data_folder(options, options.source, options.sacrebleu)
    if options.output is not None:
        if (options.output / "evaluation.json").exists():
            raise UserError(f"{options.output} already holds an evaluation: choose another --output, or remove it")
        files.require_writable(options.output)
    elif output_is_closed():
        raise UserError("standard output is closed, so that the scores would be lost: give --output DIR")


def _edges(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 10,20,30") from None
