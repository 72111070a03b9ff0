"""The options of each command."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NoReturn

from nmt.errors import UserError


class Parser(argparse.ArgumentParser):
    """Argparse, whose errors are one line like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def _edges(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 10,20,30") from None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def train_parser() -> Parser:
    parser = Parser(
        prog="nmt train", description="Train a config's model to its end, then evaluate it on the test set."
    )
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, such as configs/quickstart.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="override a field; may be repeated"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the run's last checkpoint")
    return parser


def translate_parser() -> Parser:
    parser = Parser(
        prog="nmt translate",
        description="Translate sentences of the command line, a file, standard input, or a prompt.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/quickstart/best.pt")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="a sentence; without any, standard input or a prompt")
    parser.add_argument("--input", type=Path, metavar="FILE", help="translate a file's lines, .gz or plain")
    parser.add_argument(
        "--n-best", type=_positive, default=1, metavar="N", help="print the N best: number ||| text ||| score"
    )
    parser.add_argument("--json", action="store_true", help="an object a line: text, tokens, score, attention")
    parser.add_argument("--attention", type=Path, metavar="FILE", help="draw the attention as .png or .svg")
    parser.add_argument("--replace-unk", action="store_true", help="copy the source word where the model knows none")
    parser.add_argument(
        "--dictionary",
        type=Path,
        metavar="FILE",
        help="with --replace-unk: two columns, source word and its translation (the first listed), put in its place",
    )
    parser.add_argument("--max-length", type=_positive, metavar="N", help="target tokens at most")
    parser.add_argument("--batch-size", type=_positive, metavar="N", help="sentences searched at once")
    _add_search_options(parser)
    return parser


def evaluate_parser() -> Parser:
    parser = Parser(
        prog="nmt evaluate", description="Score checkpoints on a test set, by source length too, and compare them."
    )
    parser.add_argument(
        "checkpoints", nargs="+", metavar="CHECKPOINT", help="the others are compared with the first one"
    )
    parser.add_argument(
        "--split", default="test", help="validation, test, or a Multi30k test set by its name (default: test)"
    )
    parser.add_argument("--source", type=Path, metavar="FILE", help="translate this file, not a split")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="its reference translation")
    parser.add_argument("--buckets", type=_edges, metavar="10,20,…", help="upper ends of the length buckets")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write evaluation.json, CSV and pictures there")
    parser.add_argument(
        "--alignment", type=Path, metavar="FILE", help="gold word links, 0-0 1?2 a line: score the attention by them"
    )
    parser.add_argument(
        "--alignment-words",
        choices=("spacy", "whitespace"),
        help="words that links count and heat maps show (default: spacy)",
    )
    parser.add_argument(
        "--heat-map", type=_positive, metavar="LINE", help="draw all models' attention to that line, counted from 1"
    )
    _add_search_options(parser)
    return parser


def ablation_parser() -> Parser:
    parser = Parser(
        prog="nmt ablation",
        description="Train every config's model under one budget, and write a page that compares them. "
        "Given again, it goes on where it was stopped.",
    )
    parser.add_argument("configs", nargs="*", metavar="CONFIG", help="default: all of configs/ablation")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/ablation"), metavar="DIR", help="default: docs/ablation"
    )
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, metavar="N", help="runs at once (default: all cores)"
    )
    parser.add_argument("--machine", metavar="TEXT", help="what the page calls the machine (default: what it found)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="override a field of every config"
    )
    return parser


def _add_search_options(command: Parser) -> None:
    command.add_argument("--beam", type=_positive, metavar="K", help="hypotheses searched; 1 is greedy search")
    command.add_argument("--length-penalty", type=float, metavar="α", help="of Wu et al. 2016; 0 is none")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, … (default: auto)")
    command.add_argument("--threads", type=_positive, metavar="N", help="processor threads")
