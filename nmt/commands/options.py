"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from nmt.system.cores import cores
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.config.data import DataConfig
    from nmt.config.run import Config

# Of `add_search_options` and `add_sampling_options`, those that decide what is found
SEARCH_OPTIONS = ("beam", "length_penalty", "precision", "vocabulary_selection", "temperature", "top_k", "seed")
SAMPLING_OPTIONS = ("temperature", "top_k", "seed")
DEFAULT = "(default: the checkpoint's setting)"


class Parser(argparse.ArgumentParser):
    """Argparse with errors on one line, like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def positive(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999,999,999")
    return int(text)


def add_search_options(parser: Parser) -> None:
    beam = f"beam size: hypotheses per sentence; 1 is greedy search {DEFAULT}"
    parser.add_argument("--beam", type=positive, metavar="K", help=beam)
    penalty = "exponent of the length penalty (Wu et al. 2016); 0 turns it off, more favours longer translations"
    parser.add_argument("--length-penalty", type=float, metavar="α", help=f"{penalty} {DEFAULT}")
    precision = f"number format of products with the weights; auto takes the fastest on this CPU {DEFAULT}"
    parser.add_argument("--precision", choices=("auto", "float32", "bf16", "int8"), help=precision)
    shortlist = f"search only a lexical shortlist of the output vocabulary, or all of it {DEFAULT}"
    parser.add_argument("--vocabulary-selection", action=argparse.BooleanOptionalAction, help=shortlist)
    add_device_options(parser)


def add_plain(parser: Parser) -> None:
    parser.add_argument("--plain", action="store_true", help="plain PyTorch, without nmt.fast")


def add_device_options(parser: Parser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (default: auto)")
    add_threads(parser)


def add_threads(parser: Parser) -> None:
    parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")


def add_batch_options(parser: Parser) -> None:
    parser.add_argument("--max-length", type=positive, metavar="N", help=f"longest translation, in tokens {DEFAULT}")
    parser.add_argument("--batch-size", type=positive, metavar="N", help=f"sentences translated at once {DEFAULT}")


def add_sampling_options(parser: Parser) -> None:
    temperature = "sample translations from p^(1/T) instead of searching for the best"
    parser.add_argument("--temperature", type=float, metavar="T", help=temperature)
    parser.add_argument("--top-k", type=positive, metavar="K", help="sample each token from the K most probable ones")
    seed = "with --temperature or --top-k: the random seed (default: 1)"
    parser.add_argument("--seed", type=positive, metavar="N", help=seed)


def search_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `Translator.translate` that the options above set. None: the checkpoint's setting."""
    names = ("length_penalty", "precision", "vocabulary_selection", "max_length", "batch_size")
    settings = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if hasattr(options, "seed"):
        settings["sampling"] = sampling(options)
    return {"beam_size": options.beam, **settings}


def sampling(options: argparse.Namespace) -> dict[str, int | float] | None:
    """How to sample translations, or None to search for them. Raises `UserError` for a seed without sampling."""
    settings = {name: value for name in SAMPLING_OPTIONS if (value := getattr(options, name)) is not None}
    if settings.keys() == {"seed"}:
        raise UserError("--seed is for sampling: add --temperature 1 or --top-k, or leave it out")
    return settings or None


def add_data_folder(parser: argparse._ActionsContainer, what: str = "the corpus is") -> None:
    parser.add_argument("--data-folder", metavar="DIR", help=f"where {what}, or will be stored (default: data)")


def split_config(options: argparse.Namespace, config: Config) -> DataConfig:
    """The data settings of a checkpoint, with the folder of `add_data_folder`, for the splits of its corpus.

    Raises `UserError` if the folder is given for a checkpoint that was trained on files.
    """
    if options.data_folder is not None and config.data.corpus == "files":
        raise UserError("--data-folder is for corpora with a name; this checkpoint has paths of files: leave it out")
    return corpus_config(options, config)


def corpus_config(options: argparse.Namespace, config: Config) -> DataConfig:
    """The data settings of a checkpoint, with the folder of `add_data_folder`, for any corpus.

    A checkpoint may come from anybody: it does not decide where a corpus is stored, or from where it is downloaded.
    """
    return config.data.model_copy(update={"folder": options.data_folder or "data", "mirror": None})


def refuse_twice(checkpoints: Sequence[str]) -> None:
    """Raise `UserError` if a checkpoint is given more than once."""
    files = {path if path.startswith("hf://") else os.path.realpath(path) for path in checkpoints}
    if len(files) < len(checkpoints):
        raise UserError("a checkpoint was given twice: name each once")


def share_threads(options: argparse.Namespace) -> None:
    """Divide the cores among several workers, unless --threads sets their number of threads."""
    if options.workers > 1:
        options.threads = options.threads or max(1, cores() // options.workers)


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads, or PyTorch's choice. Raises `UserError` for more than 1024."""
    if threads is not None and threads > 1024:
        raise UserError(f"--threads {threads}: the limit is 1024")
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
