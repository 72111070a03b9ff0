"""`nmt train --check`: tries config, data, folder and memory. Nothing is trained, and no run's folder is made."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import torch

from nmt.config.run import Config
from nmt.data.batching import Batches, collate
from nmt.data.training_set import TrainingSet
from nmt.system import files
from nmt.system.device import memory, report_out_of_memory
from nmt.system.errors import UserError
from nmt.system.wording import counted
from nmt.training.folder import LAST, PREVIOUS, refuse_other_files, refuse_used
from nmt.training.learner import make_learner, make_sampler
from nmt.training.loop import out_of_memory
from nmt.training.precision import choose_precision, with_precision
from nmt.training.prepare import batches_of, prepare
from nmt.training.progress import Progress, TextProgress
from nmt.training.recorded import Recorder
from nmt.training.resume import check_continues
from nmt.training.start import first_model, last_whole
from nmt.training.summary import summarize
from nmt.training.update import update

GIB = 2**30


def check(config: Config, *, resume: bool, progress: Progress | None = None) -> None:
    """Say what a run of `config` would train, and how much memory its largest update takes, by making that update.

    Raises `UserError` where a run would.
    """
    progress = progress or TextProgress()
    folder = Path(config.output_dir) / config.name
    (refuse_other_files if resume else refuse_used)(folder)
    _refuse_unwritable(folder)
    prepared = prepare(config, resumed=folder if resume else None)
    recorded = None
    if resume:
        loaded, damaged = last_whole(folder, torch.device("cpu"))
        if damaged is not None:
            print(f"{damaged}. A run would continue from {folder / PREVIOUS}", file=sys.stderr)
        if loaded is not None:
            check_continues(config, prepared, loaded, folder / LAST)
            recorded = loaded.config.training.precision
    torch.manual_seed(config.training.seed)
    pairs = prepared.pairs
    model = first_model(config, pairs.source, pairs.target, prepared.start).to(prepared.device)
    in_graphs = Recorder.is_possible(model)
    chosen_precision = choose_precision(config.training.precision, prepared.device, recorded, in_graphs=in_graphs)
    wanted, config = config, with_precision(config, chosen_precision.precision)
    sampler = make_sampler(pairs, config.training, prepared.device)
    learner = make_learner(model, config.training, sampler=sampler)
    progress.summary(summarize(wanted, folder, prepared, model, chosen_precision))
    batches = batches_of(pairs, config.training, epoch=0)
    largest = collate(pairs.examples(batches[_largest(pairs, batches)], "check"))
    chosen = [largest] * min(config.training.accumulate, 2)  # a third one would take no more memory
    updates = 1 if learner.recorder is None else 2  # the second one is recorded, in memory of its own
    with report_out_of_memory(lambda: out_of_memory(chosen, 1)):
        for _ in range(updates):
            update(learner, chosen, config.training, rate=0.0, done=0)
    partners = 0 if learner.partner is None else learner.partner.peak_memory
    learner.close()
    rows, columns = largest.target_input.shape
    sentences = counted(rows, "sentence")
    progress.message(
        f"Memory: {(_peak(prepared.device) + partners) / GIB:.1f} GiB with the largest batch ({sentences}, up to "
        f"{largest.source.shape[1]} source and {columns} target tokens), of {_all(prepared.device) / GIB:.1f} GiB"
    )
    progress.message(f"Everything checked out. The run would be saved in {folder}")


def _refuse_unwritable(folder: Path) -> None:
    """Raise `UserError` if the folder, or the nearest one above it that is there, cannot be written."""
    if (there := files.obstacle(folder)) is not None:
        raise UserError(
            f"{folder} cannot be used: {there} is not a folder that can be written; choose another output_dir"
        )


def _largest(pairs: TrainingSet, batches: Batches) -> int:
    """The number of the batch with the most cells, of both sides together."""
    source, target = pairs.lengths

    def cells(number: int) -> int:
        examples = batches[number]
        return len(examples) * int(source[examples].max() + target[examples].max())

    return max(range(len(batches)), key=cells)


def _peak(device: torch.device) -> int:
    """The most bytes that this process has used of the device's memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _all(device: torch.device) -> int:
    """The bytes of the device's memory."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else memory()
