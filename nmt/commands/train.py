"""nmt train: train a config's model to its end, then evaluate it on the test set."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import Parser

if TYPE_CHECKING:
    from nmt.config.run import Config
    from nmt.evaluation.checkpoints import TestSet


def parser() -> Parser:
    parser = Parser(
        prog="nmt train", description="Train a config's model to its end, then evaluate it on the test set."
    )
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, such as configs/quickstart.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="override a field; may be repeated"
    )
    parser.add_argument("--check", action="store_true", help="try config, data, folder and memory, and train nothing")
    parser.add_argument("--resume", action="store_true", help="go on from the run's last checkpoint")
    return parser


def run(options: argparse.Namespace) -> int:
    """Train a config's model to its end, then evaluate it on the test set."""
    from nmt.config.reading import load_config
    from nmt.system.bundled import find_config

    config = load_config(find_config(options.config), options.set)

    from nmt.evaluation.checkpoints import corpus_test_set
    from nmt.training.interruption import lasting_output

    has_test = config.data.corpus != "files" or config.data.source.test is not None
    split = config.evaluation.split or ("test" if has_test else "validation")
    test_set = corpus_test_set(config, split)  # now: a missing file should show at once
    if options.check:
        from nmt.training.check import check

        check(config, resume=options.resume)
        return 0
    with lasting_output():
        return _train(config, test_set, options)


def _train(config: Config, test_set: TestSet, options: argparse.Namespace) -> int:
    from nmt.evaluation.checkpoints import evaluate
    from nmt.training.distributed import joined
    from nmt.training.interruption import Interrupted, StopSignals
    from nmt.training.run import run
    from nmt.translator import Translator

    stop = StopSignals()
    try:
        with joined() as ranks, stop.installed():
            if not ranks.leads:
                sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the command ends
            folder = run(config, stop, resume=options.resume, ranks=ranks)
    except Interrupted:
        print("Stopped before training began: nothing was changed.")
        return 130
    if stop.requested:
        settings = [part for setting in options.set for part in ("--set", setting)]
        again = _spelled("train", options.config, *settings, "--resume")
        print(f"Saved {folder / 'last.pt'}. To go on: {again}")
        return 130
    if not ranks.leads:
        return 0
    best = folder / "best.pt"
    languages = (config.data.source.language, config.data.target.language)
    translators = {str(best): Translator.load(best, device=config.training.device)}
    table = evaluate(translators, test_set, languages=languages, edges=config.evaluation.length_edges, output=folder)
    print(f"\n{table}\n")
    example = min(test_set.text.source, key=lambda sentence: abs(len(sentence) - 40))
    print("Next:")
    print(" ", _spelled("translate", str(best), example))
    print(" ", _spelled("translate", str(best), example, "--attention", "attention.png"))
    print(" ", _spelled("evaluate", str(best), "--split", "validation", "--output", "evaluation"))
    return 0


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
