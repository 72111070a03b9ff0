"""`nmt train --check`: config, data, folder and memory are tried; nothing is trained, and no run's folder is made."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import torch

from nmt.config import Config
from nmt.config_file import to_yaml
from nmt.data.batching import Batch, collate
from nmt.device import explaining_memory
from nmt.model.seq2seq import build_model
from nmt.training.learner import make_learner
from nmt.training.loop import too_large
from nmt.training.prepare import describe, first_batches, prepare
from nmt.training.run import refuse_another
from nmt.training.update import update

GIB = 2**30


def check(config: Config, *, resume: bool) -> None:
    """Print what a run of `config` would be, and the memory that its largest update takes, which is made to measure it.

    Raises `UserError` where a run would.
    """
    folder = Path(config.output_dir) / config.name
    if not resume:
        refuse_another(folder)
    prepared = prepare(config)
    torch.manual_seed(config.training.seed)
    model = build_model(config.model, len(prepared.source.vocabulary), len(prepared.target.vocabulary))
    learner = make_learner(model.to(prepared.device), config.training)
    print(to_yaml(config))
    describe(prepared, model, config.training)
    examples, batches = first_batches(prepared, config.training)
    largest = max((collate([examples[i] for i in batch]) for batch in batches), key=_cells)
    chosen = [largest] * config.training.accumulate
    with explaining_memory(lambda: too_large(chosen, 1)):
        update(learner.model, learner.optimizer, chosen, config.training, 0.0, 0)
    rows, columns = largest.target_input.shape
    print(
        f"Memory: {_peak(prepared.device) / GIB:.1f} GiB with the largest batch ({rows} sentences, up to "
        f"{largest.source.shape[1]} source and {columns} target tokens), of {_all(prepared.device) / GIB:.1f} GiB"
    )
    print(f"All is well: the run's folder would be {folder}")


def _cells(batch: Batch) -> int:
    return batch.source.numel() + batch.target_input.numel()


def _peak(device: torch.device) -> int:
    """The most bytes that this process has used of the device's memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _all(device: torch.device) -> int:
    """The bytes of the device's memory."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
