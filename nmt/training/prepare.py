"""What a run needs before its first update: the device, the training pairs with their codecs, the validation text."""

from __future__ import annotations

from typing import NamedTuple

import torch

from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batches, epoch_batches, fill_rate
from nmt.data.splits import load_split
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.kernels.linear import check_precision
from nmt.model.seq2seq import Seq2Seq
from nmt.system.device import choose_device
from nmt.system.startup import kept_for_good
from nmt.text.corpus import ParallelText
from nmt.training.distributed import ALONE, Ranks, this_device


class Prepared(NamedTuple):
    device: torch.device
    pairs: TrainingSet
    validation: ParallelText


def prepare(config: Config, ranks: Ranks = ALONE) -> Prepared:
    """Read and tokenise the data that `config` names; nothing is written but the cache of what takes long.

    Of several processes the first does so, and then the others find it in the cache.

    Raises `UserError` if the data cannot be used, or if the machine lacks what the config asks for.
    """
    device = this_device(choose_device(config.training.device))
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)
    check_precision("training.precision", config.training.precision, device)
    check_precision("search.precision", config.search.precision, device)
    with kept_for_good():
        if not ranks.leads:
            ranks.total(0)
        prepared = Prepared(device, load_training_set(config.data), load_split(config.data, "validation"))
        if ranks.leads:
            ranks.total(0)
    return prepared


def batches_of(pairs: TrainingSet, config: TrainingConfig, epoch: int, ranks: Ranks = ALONE) -> Batches:
    """An epoch's batches, of all processes together; epochs are counted from 0."""
    return epoch_batches(pairs.lengths, ranks.count * config.batch_size, config.batch_unit, config.seed, epoch)


def describe(prepared: Prepared, model: Seq2Seq, config: TrainingConfig, ranks: Ranks = ALONE) -> None:
    """Print what is trained, on what."""
    pairs = prepared.pairs
    batches = batches_of(pairs, config, 0, ranks)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{len(pairs)} training pairs, {pairs.skipped}")
    types = len(pairs.source.vocabulary), len(pairs.target.vocabulary)
    print(f"{types[0]} source types, {types[1]} target types, special ones counted")
    print(f"{len(batches)} batches an epoch, filled to {100 * fill_rate(pairs.lengths, batches):.1f} % with tokens")
    print(f"{parameters:,} parameters, on {prepared.device}, {torch.get_num_threads()} threads", end="")
    print(f" in each of {ranks.count} processes\n" if ranks.count > 1 else "\n", flush=True)
