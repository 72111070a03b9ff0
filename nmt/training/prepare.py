"""What a run needs before its first update: the device, the training pairs with their codecs, the validation text."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from nmt.checkpoint.contents import Loaded
from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batches, epoch_batches
from nmt.data.splits import split_paths
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.kernels import in_use
from nmt.kernels.precision import check_precision
from nmt.system.device import choose_device
from nmt.system.errors import UserError
from nmt.system.startup import without_garbage_collection
from nmt.text.corpus import ParallelText, read_pairs
from nmt.text.limits import most_characters
from nmt.training.distributed import ALONE, World, this_device
from nmt.training.start import starting_point


class Prepared(NamedTuple):
    device: torch.device
    pairs: TrainingSet
    validation: ParallelText
    start: Loaded | None


def prepare(config: Config, world: World = ALONE, resumed: Path | None = None) -> Prepared:
    """Read and tokenise the data that `config` names, and keep the result in the cache; read what training starts from.

    Of several processes the first one does the work, and the others then read the cache. `resumed` is the folder of a
    run that goes on.

    Raises `UserError` if the data or the starting point cannot be used, or the machine lacks what the config asks for.
    """
    device = this_device(choose_device(config.training.device))
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)
    check_precision("training.precision", config.training.precision, device)
    if config.training.precision == "int8" and in_use() == "plain":
        raise UserError("training.precision: int8 needs the fast kernels; unset NMT_KERNELS, or use bf16 or float32")
    check_precision("search.precision", config.search.precision, device)
    start = starting_point(config, resumed)
    codecs = start and (start.source, start.target)
    with without_garbage_collection():
        if not world.is_main:
            world.wait()
        pairs = load_training_set(config.data, codecs)
        if start is not None:
            pairs = replace(pairs, start=(start.selection,))
        prepared = Prepared(device, pairs, _validation_text(config), start)
        if world.is_main:
            world.wait()
            for line in prepared.pairs.notes:
                print(line, file=sys.stderr)
    return prepared


def batches_of(pairs: TrainingSet, config: TrainingConfig, epoch: int, world: World = ALONE) -> Batches:
    """An epoch's batches, of all processes together; epochs are counted from 0."""
    return epoch_batches(pairs.lengths, world.size * config.batch_size, config.batch_unit, config.seed, epoch)


def _validation_text(config: Config) -> ParallelText:
    """Raises `UserError` if no pair has text, or for a line whose loss would take minutes and fill the memory."""
    paths = split_paths(config.data, "validation")
    text = read_pairs(*paths)
    most = most_characters(config.search.max_source_length)
    for side, path, lines in zip(("source", "target"), paths, (text.source, text.target), strict=True):
        for number, line in enumerate(lines, start=1):
            if len(line) > most:
                raise UserError(
                    f"data.{side}.validation: {path}, line {number} has {len(line):,} characters, more than {most:,}: "
                    "split it, or raise search.max_source_length"
                )
    if not any(source.strip() and target.strip() for source, target in zip(text.source, text.target, strict=True)):
        raise UserError(f"{paths[0]} and {paths[1]}: no pair has text on both sides: give another validation set")
    return text
