"""Train the model that a config describes, then score it on the test set."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import Parser

if TYPE_CHECKING:
    from nmt.config.run import Config
    from nmt.evaluation.checkpoints import TestSet


def parser() -> Parser:
    parser = Parser(prog="nmt train", description=__doc__)
    add = parser.add_argument
    add("config", metavar="CONFIG", help="a YAML file, such as configs/quickstart.yaml")
    add("--set", action="append", default=[], metavar="FIELD=VALUE", help="override a field; may be repeated")
    add("--check", action="store_true", help="check config, data, folder and memory, but do not train")
    add("--resume", action="store_true", help="continue from the run's last checkpoint")
    add("--plain", action="store_true", help="plain PyTorch, without nmt.fast")
    return parser


def run(options: argparse.Namespace) -> int:
    from nmt.config.reading import load_config
    from nmt.system.bundled import find_config

    plain = ["training.fast=false"] if options.plain else []
    config = load_config(find_config(options.config), [*options.set, *plain])

    from nmt.evaluation.checkpoints import corpus_test_set
    from nmt.training.interruption import tolerate_closed_output

    has_test = config.data.corpus != "files" or config.data.source.test is not None
    split = config.evaluation.split or ("test" if has_test else "validation")
    test_set = corpus_test_set(config, split)  # now: a missing file should show at once
    if options.check:
        from nmt.training.run import check

        check(config, resume=options.resume)
        return 0
    with tolerate_closed_output():
        return _train(config, test_set, options)


def _train(config: Config, test_set: TestSet, options: argparse.Namespace) -> int:
    from nmt.training.distributed import connect_processes
    from nmt.training.folder import LAST
    from nmt.training.interruption import StopSignals
    from nmt.training.run import run

    stop = StopSignals()
    with connect_processes() as group:
        if not group.is_main:
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the command ends
        folder = run(config, stop, resume=options.resume, group=group)
    if stop.requested:
        settings = [word for setting in options.set for word in ("--set", setting)]
        settings += ["--plain"] if options.plain else []
        again = _command_line("train", options.config, *settings, "--resume")
        print(f"Saved {folder / LAST}. To continue: {again}", flush=True)
        return 130
    if group.is_main:
        _evaluate(config, test_set, folder)
    return 0


def _evaluate(config: Config, test_set: TestSet, folder: Path) -> None:
    """Score the best checkpoint, and print commands that use it."""
    from nmt.data.splits import load_split
    from nmt.evaluation.calibration import store_thresholds
    from nmt.evaluation.checkpoints import evaluate
    from nmt.training.folder import BEST
    from nmt.translator import Translator

    best = str(folder / BEST)
    translator = Translator.load(best, device=config.training.device, fast=config.training.fast)
    print(store_thresholds(folder / BEST, translator, load_split(config.data, "validation")), flush=True)
    table = evaluate(
        {best: translator},
        test_set,
        languages=(config.data.source.language, config.data.target.language),
        edges=config.evaluation.length_edges,
        output=folder,
    )
    example = min(test_set.text.source, key=lambda sentence: abs(len(sentence) - 40))
    commands = [
        _command_line("translate", best, example),
        _command_line("translate", best, example, "--attention", "attention.png"),
        _command_line("evaluate", best, "--split", "validation", "--output", "evaluation"),
    ]
    print("\n  ".join([f"\n{table}\n\nNext:", *commands]))


def _command_line(*arguments: str) -> str:
    """A command to type in this folder: `nmt`, or its module if this process was started in another way."""
    if Path(sys.argv[0]).name == "nmt":
        return shlex.join(["nmt", *arguments])
    python = min(sys.executable, os.path.relpath(sys.executable), key=len)
    return shlex.join([python, "-m", "nmt", *arguments])
