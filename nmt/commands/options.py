"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from nmt.system.cores import cores
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.config.data import DataConfig
    from nmt.config.run import Config

# Of `add_search_options` and `add_sampling_options`, those that decide what is found
SEARCH_OPTIONS = ("beam", "length_penalty", "precision", "vocabulary_selection", "temperature", "top_k", "seed")

OWN = "(default: the checkpoint's own)"


class Parser(argparse.ArgumentParser):
    """Argparse with errors on one line, like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def positive(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999,999,999")
    return int(text)


def add_search_options(command: Parser) -> None:
    command.add_argument(
        "--beam",
        type=positive,
        metavar="K",
        help=f"beam size: hypotheses per sentence; 1 is greedy search {OWN}",
    )
    command.add_argument(
        "--length-penalty",
        type=float,
        metavar="α",
        help=f"exponent of the length penalty (Wu et al. 2016); 0 turns it off, more favours longer translations {OWN}",
    )
    command.add_argument(
        "--precision",
        choices=("auto", "float32", "bf16", "int8"),
        help="number format of matrix products with the weights; auto chooses the fastest by the processor's features "
        f"{OWN}",
    )
    command.add_argument(
        "--vocabulary-selection",
        action=argparse.BooleanOptionalAction,
        help=f"search only among words that are likely beside those of the sentence, or among all {OWN}",
    )
    add_device_options(command)


def add_device_options(command: Parser) -> None:
    command.add_argument("--device", default="auto", help="where it runs: auto, cpu, cuda, cuda:1, … (default: auto)")
    command.add_argument("--threads", type=positive, metavar="N", help="processor threads (default: PyTorch's choice)")


def add_batch_options(command: Parser) -> None:
    command.add_argument("--max-length", type=positive, metavar="N", help=f"longest translation, in tokens {OWN}")
    command.add_argument("--batch-size", type=positive, metavar="N", help=f"sentences translated at once {OWN}")


def add_sampling_options(command: Parser) -> None:
    command.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="sample translations from p^(1/T) instead of searching for the best",
    )
    command.add_argument(
        "--top-k", type=positive, metavar="K", help="sample, at each step among the K likeliest words only"
    )
    command.add_argument(
        "--seed",
        type=positive,
        metavar="N",
        help="with --temperature or --top-k: the random seed (default: 1)",
    )


def sampling(options: argparse.Namespace) -> dict[str, int | float] | None:
    """How to draw translations, or None to search for them. Raises `UserError` for a seed without drawing."""
    given = {name: getattr(options, name) for name in ("temperature", "top_k", "seed")}
    chosen = {name: value for name, value in given.items() if value is not None}
    if chosen.keys() == {"seed"}:
        raise UserError("--seed is for sampling: add --temperature 1 or --top-k, or leave it out")
    return chosen or None


def add_data_folder(command: Parser, what: str = "the corpus is") -> None:
    command.add_argument("--data-folder", metavar="DIR", help=f"where {what}, or will be put (default: data)")


def data_here(options: argparse.Namespace, config: Config) -> DataConfig:
    """The data settings of a checkpoint, with the folder of `add_data_folder`, for the splits of its corpus.

    Raises `UserError` if the folder is given for a checkpoint of the user's own files.
    """
    if options.data_folder is not None and config.data.corpus == "files":
        raise UserError("--data-folder is for corpora with a name; this checkpoint has paths of files: leave it out")
    return corpora_here(options, config)


def check_data_folder(options: argparse.Namespace, *instead: object) -> None:
    """Raise `UserError` if the folder of `add_data_folder` is given beside what stands in the place of a split."""
    if options.data_folder is not None and any(each is not None for each in instead):
        raise UserError("--data-folder is for a split of the corpus: leave it out")


def corpora_here(options: argparse.Namespace, config: Config) -> DataConfig:
    """The data settings of a checkpoint, with the folder of `add_data_folder`, for any corpus.

    A checkpoint may come from anybody: it does not decide where a corpus is put, or from where it is taken.
    """
    return config.data.model_copy(update={"folder": options.data_folder or "data", "mirror": None})


def refuse_twice(checkpoints: Sequence[str]) -> None:
    """Raise `UserError` if a checkpoint is given more than once."""
    files = {path if path.startswith("hf://") else os.path.realpath(path) for path in checkpoints}
    if len(files) < len(checkpoints):
        raise UserError("a checkpoint was given twice: name each once")


def share_threads(options: argparse.Namespace) -> None:
    """Give each of several workers its share of the processor's threads, unless --threads says how many."""
    if options.workers > 1:
        options.threads = options.threads or max(1, cores() // options.workers)


def set_threads(threads: int | None) -> None:
    """Have PyTorch use that many threads; None leaves its own choice. Raises `UserError` for more than 1024."""
    if threads is not None and threads > 1024:
        raise UserError(f"--threads {threads}: the limit is 1024")
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
