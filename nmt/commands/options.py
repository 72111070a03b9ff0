"""What the commands' options share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from nmt.system.errors import UserError


class Parser(argparse.ArgumentParser):
    """Argparse, whose errors are one line like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def positive(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 999,999,999")
    return int(text)


def add_search_options(command: Parser) -> None:
    command.add_argument("--beam", type=positive, metavar="K", help="hypotheses searched; 1 is greedy search")
    command.add_argument("--length-penalty", type=float, metavar="α", help="of Wu et al. 2016; 0 is none")
    command.add_argument(
        "--precision",
        choices=("float32", "bf16", "int8"),
        help="bf16: faster, where a GPU or processor multiplies bfloat16; int8: faster still, on processors",
    )
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, … (default: auto)")
    command.add_argument("--threads", type=positive, metavar="N", help="processor threads")


def refuse_twice(checkpoints: Sequence[str]) -> None:
    """Raise `UserError` if a checkpoint is named more than once."""
    if len(set(checkpoints)) < len(checkpoints):
        raise UserError("a checkpoint was given twice: name each once")


def set_threads(threads: int | None) -> None:
    if threads is not None and threads > 1024:
        raise UserError(f"--threads {threads}: give at most 1024")
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
