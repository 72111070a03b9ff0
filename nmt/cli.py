"""The command line: `nmt train`, `nmt translate`, `nmt evaluate`, `nmt ablation`.

Exit codes: 0 done; 2 the user's input is wrong (one line on standard error); 130 stopped by Ctrl-C or SIGTERM, in
training after saving; 1 a defect of ours (with its traceback). Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt import files
from nmt.errors import UserError
from nmt.options import Parser, ablation_parser, evaluate_parser, train_parser, translate_parser
from nmt.startup import kept_for_good

if TYPE_CHECKING:
    from nmt.translator import Translation, Translator

LINES_AT_ONCE = 1024  # of a file or standard input: enough to batch well, few enough to see results soon


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # German, whatever the locale says
    commands = {
        "train": (train, train_parser),
        "translate": (translate, translate_parser),
        "evaluate": (evaluate, evaluate_parser),
        "ablation": (ablation, ablation_parser),
    }
    parser = Parser(prog="nmt", description="Attention-based neural machine translation.")
    parser.add_argument("command", choices=commands)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see nmt COMMAND --help")
    try:
        chosen = parser.parse_args(sys.argv[1:] or ["--help"] if arguments is None else arguments)
        command, command_parser = commands[chosen.command]
        # Intermixed, so that options may stand between a checkpoint and a sentence; subparsers cannot do that.
        return command(command_parser().parse_intermixed_args(chosen.arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def train(options: argparse.Namespace) -> int:
    """Train a config's model to its end, then evaluate it on the test set."""
    from nmt.config_file import load_config

    config = load_config(options.config, options.set)

    from nmt.evaluation.checkpoints import corpus_test_set, evaluate
    from nmt.training.interruption import StopSignals
    from nmt.training.run import run
    from nmt.translator import Translator

    has_test = config.data.corpus != "files" or config.data.source.test is not None
    test_set = corpus_test_set(config, "test" if has_test else "validation")  # now: a missing file should show at once
    stop = StopSignals()
    with stop.installed():
        folder = run(config, stop, resume=options.resume)
    if stop.requested:
        settings = [part for setting in options.set for part in ("--set", setting)]
        again = _spelled("train", options.config, *settings, "--resume")
        print(f"Saved {folder / 'last.pt'}. To go on: {again}")
        return 130
    best = folder / "best.pt"
    languages = (config.data.source.language, config.data.target.language)
    translators = {str(best): Translator.load(best, config.training.device)}
    table = evaluate(translators, test_set, languages=languages, edges=config.evaluation.length_edges, output=folder)
    print(f"\n{table}\n")
    example = min(test_set.text.source, key=lambda sentence: abs(len(sentence) - 40))
    print("Next:")
    print(" ", _spelled("translate", str(best), example))
    print(" ", _spelled("translate", str(best), example, "--attention", "attention.png"))
    print(" ", _spelled("evaluate", str(best), "--split", "validation", "--output", "evaluation"))
    return 0


def translate(options: argparse.Namespace) -> int:
    """Translate sentences of the command line, a file, standard input, or a prompt; only translations on stdout."""
    if options.attention is not None:
        from nmt.evaluation.plots import check_picture

        check_picture(options.attention)
        files.make_folder(options.attention.parent)
        if len(options.text) != 1:
            raise UserError(f"--attention draws one sentence, and {len(options.text)} were given: quote one as TEXT")
    if options.text and options.input:
        raise UserError("TEXT and --input exclude each other: give one of them")
    dictionary = _dictionary(options)
    with kept_for_good():
        from nmt.translator import Translator

        _set_threads(options.threads)
        translator = Translator.load(options.checkpoint, options.device)
    if options.attention is not None and not translator.has_attention:
        raise UserError("--attention: this model has no attention (model.attention.wiring: none)")
    at_once = LINES_AT_ONCE
    if options.text:
        sentences: Iterator[str] = iter(options.text)
    elif options.input:
        from nmt.data.corpus import read_lines

        sentences = iter(read_lines(options.input))
    elif sys.stdin.isatty():
        sentences, at_once = _prompt(), 1
    else:
        sentences = _standard_input()
    number = 0
    while chunk := list(islice(sentences, at_once)):
        for translation in _translate(translator, chunk, options, dictionary):
            print("\n".join(_formatted(translation, number, options)))
            number += 1
        sys.stdout.flush()
    return 0


def evaluate(options: argparse.Namespace) -> int:
    """Score checkpoints on a test set, by source length, and compare them."""
    _check_evaluate(options)

    from nmt import checkpoint
    from nmt.device import choose_device
    from nmt.evaluation import checkpoints
    from nmt.evaluation.alignment import word_pairs
    from nmt.translator import Translator

    _set_threads(options.threads)
    device = choose_device(options.device)
    loaded = {path: checkpoint.load(path, device) for path in options.checkpoints}
    configs = {path: contents.config for path, contents in loaded.items()}
    first = configs[options.checkpoints[0]]
    if options.source is not None:
        test_set = checkpoints.file_test_set(options.source, options.reference)
    else:
        checkpoints.check_same_corpus(configs)
        test_set = checkpoints.corpus_test_set(first, options.split)
    languages = (first.data.source.language, first.data.target.language)
    if options.alignment is not None or options.heat_map is not None:
        words = word_pairs(test_set.text, languages, options.alignment_words or "spacy", options.alignment)
        test_set = replace(test_set, words=words)
    translators = {path: Translator(c.model, c.source, c.target, c.config.search) for path, c in loaded.items()}
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
    )
    print(table)
    if options.heat_map is not None:
        paths = checkpoints.draw_heat_map(translators, test_set, options.heat_map, options.output)
        print("Written:", ", ".join(map(str, paths)))
    return 0


def _check_evaluate(options: argparse.Namespace) -> None:
    """Raise `UserError` where options do not fit each other: what can be said before anything is loaded."""
    from nmt.evaluation.by_length import check_edges

    if options.buckets is not None:
        check_edges(options.buckets)
    if (options.source is None) != (options.reference is None):
        raise UserError("--source and --reference go together: give both files, or none")
    if len(set(options.checkpoints)) < len(options.checkpoints):
        raise UserError("a checkpoint was given twice: name each once")
    if options.heat_map is not None and options.output is None:
        raise UserError("--heat-map needs a folder for its pictures: give --output DIR")
    if options.alignment_words is not None and options.alignment is None and options.heat_map is None:
        raise UserError("--alignment-words goes with --alignment or --heat-map: give one of them, or leave it out")
    if options.output is not None:
        files.make_folder(options.output)


def ablation(options: argparse.Namespace) -> int:
    """Train every config's model under one budget, then write a page that compares them."""
    from nmt.ablation.compare import compare

    return compare(options.configs, options.set, output=options.output, jobs=options.jobs, machine=options.machine)


def _spelled(command: str, *arguments: str) -> str:
    """Another command as it can be typed in this folder, called the way that this one was."""
    script = Path(sys.argv[0])
    if script.name != "train.py":
        return shlex.join(["nmt", command, *arguments])
    python = Path(sys.executable)
    if shutil.which(python.name) == str(python):
        python = Path(python.name)
    elif python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return shlex.join([str(python), str(script.with_name(f"{command}.py")), *arguments])


def _dictionary(options: argparse.Namespace) -> dict[str, str] | None:
    if options.dictionary is None:
        return None
    if not options.replace_unk:
        raise UserError("--dictionary serves --replace-unk alone: give both options, or neither")
    from nmt.data.copying import read_dictionary

    return read_dictionary(options.dictionary)


def _translate(
    translator: Translator, sentences: list[str], options: argparse.Namespace, dictionary: dict[str, str] | None
) -> list[Translation]:
    translations = translator.translate(
        sentences,
        beam_size=options.beam,
        length_penalty=options.length_penalty,
        max_length=options.max_length,
        batch_size=options.batch_size,
        n_best=options.n_best,
        replace_unk=options.replace_unk,
        dictionary=dictionary,
        attention=options.json or options.attention is not None,
    )
    if options.attention is not None:
        from nmt.evaluation.plots import attention_heat_map

        drawn = translations[0]
        if not drawn.tokens or drawn.attention is None:
            raise UserError("--attention: the sentence is empty, so there is nothing to draw; give one with words")
        attention_heat_map(drawn.attention.numpy(), drawn.source_tokens, drawn.tokens, options.attention)
    return translations


def _formatted(translation: Translation, number: int, options: argparse.Namespace) -> list[str]:
    """The lines of one sentence: its text; JSON; or, for n-best lists, Moses' `number ||| text ||| score`."""
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
    if translation.n_best:
        entry["n_best"] = [_as_json(alternative) for alternative in translation.n_best]
    return entry


def _prompt() -> Iterator[str]:
    print("A sentence, then Enter. Ctrl-D ends.", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)  # not by input(), which may write it among the translations
        try:
            yield input()
        except EOFError:
            print(file=sys.stderr)
            return


def _standard_input() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):  # bytes end their lines at "\n" alone
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: not valid UTF-8 text; send UTF-8") from None
        yield text.removesuffix("\n").removesuffix("\r")


def _set_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


if __name__ == "__main__":
    sys.exit(main())
