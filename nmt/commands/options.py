"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from nmt import addons
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.config.data import DataConfig
    from nmt.config.run import Config

DEFAULT = "(default: from the checkpoint)"
SETTINGS = ("length_penalty", "precision", "max_length", "batch_size")
SAMPLING = ("temperature", "top_k", "top_p", "seed")


class Parser(argparse.ArgumentParser):
    """Argparse with errors on one line, like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")


def positive(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 1 to 999,999,999")
    return int(text)


def seed(text: str) -> int:
    return 0 if text == "0" else positive(text)


def add_decoding_options(parser: Parser) -> None:
    """The options of commands that write translations: limits, search and sampling."""
    add_device_options(parser)
    group = parser.add_argument_group("search")
    add = group.add_argument
    add("--max-length", type=positive, metavar="N", help=f"longest translation, in tokens {DEFAULT}")
    add("--batch-size", type=positive, metavar="N", help=f"sentences translated at once {DEFAULT}")
    split = f"translate each sentence of a line by itself {DEFAULT}"
    add("--split", dest="split_sentences", action=argparse.BooleanOptionalAction, help=split)
    add_search_options(group)
    add = parser.add_argument_group("sampling").add_argument
    add("--temperature", type=float, metavar="T", help="sample translations from p^(1/T) instead of searching")
    add("--top-k", type=positive, metavar="K", help="sample each token from the K most probable ones")
    add("--top-p", type=float, metavar="P", help="sample each token from the likeliest with this total probability")
    add(
        "--seed",
        type=seed,
        metavar="N",
        help="with --temperature, --top-k or --top-p: the random seed (default: 1)",
    )


def add_search_options(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
    beam = f"beam size; 1 is greedy search {DEFAULT}"
    add("--beam", "--beam-size", type=positive, metavar="K", help=beam)
    penalty = "exponent of the length penalty (Wu et al. 2016); 0: none, higher: longer translations"
    add("--length-penalty", type=float, metavar="α", help=f"{penalty} {DEFAULT}")
    precision = f"precision of products with the weights; auto: the fastest on this CPU {DEFAULT}"
    add("--precision", choices=("auto", "float32", "bf16", "int8"), help=precision)
    if (room := addons.offered("search_flags")) is not None:
        room.add_to(group)


def add_device_options(parser: Parser) -> None:
    parser.add_argument("--device", default="auto", help="device: auto, cpu, cuda, cuda:1, mps, … (default: auto)")
    parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")


def add_data_folder(parser: argparse._ActionsContainer, what: str = "the corpus is") -> None:
    parser.add_argument("--data-folder", metavar="DIR", help=f"where {what}, or will be stored (default: data)")


def _settings() -> tuple[str, ...]:
    return (*SETTINGS, *getattr(addons.offered("search_flags"), "NAMES", ()))


def content_options() -> tuple[str, ...]:
    """The names of all options that decide what the translations are."""
    return ("beam", "split_sentences", *_settings(), *SAMPLING)


def search_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `Translator.translate`; None: the checkpoint's setting. Raises `UserError` for a seed alone."""
    sampling = {name: value for name in SAMPLING if (value := getattr(options, name, None)) is not None}
    if sampling.keys() == {"seed"}:
        raise UserError("--seed is for sampling: add --temperature 1 or --top-k, or leave it out")
    settings = {name: getattr(options, name, None) for name in _settings()}
    settings["split"] = getattr(options, "split_sentences", None)  # nmt evaluate has another --split
    return {"beam_size": options.beam, "sampling": sampling or None, **settings}


def corpus_config(options: argparse.Namespace, config: Config) -> DataConfig:
    """The data settings of a checkpoint, with the folder of `add_data_folder`.

    A checkpoint may come from anybody: it does not decide where a corpus is stored, or from where it is downloaded.
    """
    return config.data.model_copy(update={"folder": options.data_folder or "data", "mirror": None})


def refuse_alone(options: argparse.Namespace, needs: Mapping[str, str]) -> None:
    """Raise `UserError` for an option that is given without the one that it needs."""
    for name, other in needs.items():
        if getattr(options, name) and not getattr(options, other):
            flag, needed = (f"--{word.replace('_', '-')}" for word in (name, other))
            raise UserError(f"{flag} needs {needed}: give both options, or neither")


def share_threads(options: argparse.Namespace) -> None:
    """Divide the cores among several workers, unless --threads sets their number of threads."""
    if options.workers > 1:
        from nmt.system.process_pool import cores

        options.threads = options.threads or max(1, cores() // options.workers)


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads, or PyTorch's choice. Raises `UserError` for more than 1024."""
    if threads is not None and threads > 1024:
        raise UserError(f"--threads {threads}: the limit is 1024")
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
