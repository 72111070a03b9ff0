"""What a run needs before its first update: the device, both codecs, the training pairs, the validation text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from nmt.config import Config, TrainingConfig
from nmt.data.batching import Example, epoch_batches, fill_rate
from nmt.data.codec import Codec, build_codecs
from nmt.data.corpus import ParallelText
from nmt.data.sampling import epoch_examples
from nmt.data.splits import load_split
from nmt.device import choose_device
from nmt.errors import UserError
from nmt.model.linear import HAS_ONEDNN
from nmt.model.seq2seq import Seq2Seq
from nmt.startup import kept_for_good


class Prepared(NamedTuple):
    device: torch.device
    source: Codec
    target: Codec
    examples: Callable[[int], Sequence[Example]]  # of an epoch, counted from 0
    validation: ParallelText
    skipped: str  # how many pairs were, in words


def prepare(config: Config) -> Prepared:
    """Read and tokenise the data that `config` names; nothing is written but the cache of what takes long.

    Raises `UserError` if the data cannot be used, or if the machine lacks what the config asks for.
    """
    device = choose_device(config.training.device)
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)
    if config.training.precision == "bf16" and device.type == "cpu" and not HAS_ONEDNN:
        raise UserError(
            "training.precision: bf16 needs oneDNN, which this PyTorch has not for this processor; set it to float32"
        )
    with kept_for_good():
        text, validation = load_split(config.data, "train"), load_split(config.data, "validation")
        source, target, pairs, skipped = build_codecs(config.data, text, Path(config.data.folder) / "cache")
        examples = epoch_examples(pairs, source, target, config.data, config.training.seed)
    return Prepared(device, source, target, examples, validation, str(skipped))


def first_batches(prepared: Prepared, config: TrainingConfig) -> tuple[Sequence[Example], list[list[int]]]:
    """The first epoch's pairs and the batches that they are read in."""
    examples = prepared.examples(0)
    return examples, epoch_batches(examples, config.batch_size, config.batch_unit, config.seed, epoch=0)


def describe(prepared: Prepared, model: Seq2Seq, config: TrainingConfig) -> None:
    """Print what is trained, on what."""
    examples, batches = first_batches(prepared, config)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{len(examples)} training pairs, {prepared.skipped}")
    types = len(prepared.source.vocabulary), len(prepared.target.vocabulary)
    print(f"{types[0]} source types, {types[1]} target types, special ones counted")
    print(f"{len(batches)} batches an epoch, filled to {100 * fill_rate(examples, batches):.1f} % with tokens")
    print(f"{parameters:,} parameters, on {prepared.device}, {torch.get_num_threads()} threads\n", flush=True)
