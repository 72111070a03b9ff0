"""`nmt train --check`: tries config, data, folder and memory. Nothing is trained, and no run's folder is made."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import torch

from nmt.config.run import Config
from nmt.data.batching import Batch, collate
from nmt.system import files
from nmt.system.device import memory, report_out_of_memory
from nmt.training.folder import LAST, PREVIOUS, load_last_intact, refuse_other_files, refuse_used
from nmt.training.loop import out_of_memory
from nmt.training.precision import choose_precision, with_precision
from nmt.training.prepare import Prepared, batches_of, first_model, prepare
from nmt.training.progress import Progress, TextProgress
from nmt.training.resume import check_continues
from nmt.training.summary import summarize
from nmt.training.train_state import new_train_state
from nmt.training.update import update
from nmt.training.validation import describe_batch

GIB = 2**30


def check(config: Config, *, resume: bool, progress: Progress | None = None) -> None:
    """Report what a run of `config` would train, and how much memory its largest update takes, by making that update.

    Raises `UserError` where a run would.
    """
    progress = progress or TextProgress()
    folder = Path(config.output_dir) / config.name
    (refuse_other_files if resume else refuse_used)(folder)
    files.require_writable(folder, "output_dir")
    prepared = prepare(config, resumed=folder if resume else None)
    recorded = _recorded_precision(config, prepared, folder) if resume else None
    torch.manual_seed(config.training.seed)
    model = first_model(config, prepared)
    precision = choose_precision(config, prepared.device, recorded)
    progress.start(summarize(config, folder, prepared, model, precision))
    training = with_precision(config, precision.precision).training
    train_state = new_train_state(model, training, target_counts=prepared.pairs.target_counts)
    largest = _largest_batch(prepared, config)
    batches = [largest] * min(training.accumulate, 2)  # a third one would take no more memory
    updates = 1 if prepared.device.type == "cpu" else 2  # the second one may be captured, in memory of its own
    with report_out_of_memory(lambda: out_of_memory(batches, 1)):
        for _ in range(updates):
            update(train_state, batches, training, rate=0.0, global_step=0)
    worker = getattr(train_state.add_gradient, "worker", None)  # of nmt.fast
    worker_memory = 0 if worker is None else worker.peak_memory
    used, total = _memory(prepared.device)
    progress.message(
        f"Memory: {(used + worker_memory) / GIB:.1f} GiB with the largest batch ({describe_batch(largest)}), "
        f"of {total / GIB:.1f} GiB"
    )
    progress.message(f"Everything checked out. The run would be saved in {folder}")


def _recorded_precision(config: Config, prepared: Prepared, folder: Path) -> str | None:
    """The precision of the checkpoint from which the run would continue, if there is one yet."""
    loaded, damaged = load_last_intact(folder, torch.device("cpu"))
    if damaged is not None:
        print(f"{damaged}. A run would continue from {folder / PREVIOUS}", file=sys.stderr)
    if loaded is None:
        return None
    check_continues(config, prepared, loaded, folder / LAST)
    return loaded.config.training.precision


def _largest_batch(prepared: Prepared, config: Config) -> Batch:
    """The batch with the most token positions, of both sides together."""
    pairs = prepared.pairs
    source, target = pairs.lengths
    batches = batches_of(pairs, config.training, epoch=0)
    indices = max(
        (batches[i] for i in range(len(batches))), key=lambda x: len(x) * int(source[x].max() + target[x].max())
    )
    return collate(pairs.examples(indices, "check"))


def _memory(device: torch.device) -> tuple[int, int]:
    """The most bytes of the device's memory that this process has used, and all of them."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device), torch.cuda.get_device_properties(device).total_memory
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024), memory()
