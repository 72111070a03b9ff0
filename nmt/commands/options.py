"""What the commands' options share."""

from __future__ import annotations

import argparse
from typing import NoReturn

from nmt.errors import UserError


class Parser(argparse.ArgumentParser):
    """Argparse, whose errors are one line like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def add_search_options(command: Parser) -> None:
    command.add_argument("--beam", type=positive, metavar="K", help="hypotheses searched; 1 is greedy search")
    command.add_argument("--length-penalty", type=float, metavar="α", help="of Wu et al. 2016; 0 is none")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, … (default: auto)")
    command.add_argument("--threads", type=positive, metavar="N", help="processor threads")


def set_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
