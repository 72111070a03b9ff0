"""A run: from a configuration to a folder with checkpoints and metrics; and the check of what a run would do."""

from __future__ import annotations

import resource
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import torch

from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.data.batching import Batch, collate
from nmt.model.seq2seq import Seq2Seq
from nmt.system import files
from nmt.system.device import memory, report_out_of_memory
from nmt.system.errors import UserError
from nmt.training.checkpointing import load_last, restore, save_before_exit, seed_processes, state_to_continue
from nmt.training.counters import Counters
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.event_log import EventLog, RemovedFile
from nmt.training.folder import CONFIG, LAST, PREVIOUS, load_last_intact, lock_folder, refuse_other_files, refuse_used
from nmt.training.interruption import StopSignals
from nmt.training.loop import out_of_memory, train
from nmt.training.prepare import Prepared, batches_of, choose_precision, first_model, prepare, with_precision
from nmt.training.progress import Progress, TextProgress, ThroughputMeter
from nmt.training.summary import summarize, summary_text
from nmt.training.train_state import new_train_state
from nmt.training.trainer import Trainer
from nmt.training.update import update
from nmt.training.validation import describe_batch

GIB = 2**30


def run(
    config: Config,
    stop: StopSignals,
    *,
    resume: bool,
    group: ProcessGroup = SINGLE_PROCESS,
    progress: Progress | None = None,
) -> Path:
    """Train what `config` describes and return the run's folder, `output_dir/name`. `progress` is text by default.

    A new run needs a new folder; `resume` continues from the folder's `last.safetensors`, or starts from the beginning
    if there is none yet. Raises `UserError` before anything is written if config, data or folder do not fit, and
    `Interrupted` if a stop is requested while the data is prepared.
    """
    folder = Path(config.output_dir) / config.name
    progress = (progress or TextProgress()) if group.is_main else Progress()
    (refuse_other_files if resume else refuse_used)(folder)
    with stop.abandoning():
        prepared = prepare(config, group, folder if resume else None)
    with lock_folder(folder) if group.is_main else nullcontext():
        last = load_last(config, prepared, folder, group) if resume else None
        if not resume and group.is_main:
            refuse_used(folder)  # once more: another run may have ended there meanwhile
        torch.manual_seed(config.training.seed)
        loaded, saved = last or (None, None)
        model = loaded.model if loaded else first_model(config, prepared)
        recorded = loaded.config.training.precision if loaded else None
        precision = choose_precision(config, prepared.device, recorded, group)
        if group.is_main:
            files.write(folder / CONFIG, to_yaml(config).encode())
            summary = summarize(config, folder, prepared, model, precision, group)
            progress.report("start", summary, summary_text(summary))
        config = with_precision(config, precision.precision)
        pairs = prepared.pairs
        train_state = new_train_state(model, config.training, group, pairs.target_counts)
        counters, metrics_size = (saved.state, saved.metrics_size) if saved else (Counters(), 0)
        if saved:
            restore(train_state, saved, folder / LAST, group)
        else:
            seed_processes(config.training.seed, group)
        log = EventLog(folder if group.is_main else None, metrics_size, counters.update)
        of_run = config, pairs, prepared.validation, folder, group, progress, stop
        with closing(Trainer(*of_run, train_state, counters, log, ThroughputMeter())) as trainer:
            try:
                train(trainer)
            except RemovedFile as error:
                raise UserError(f"{error}; {save_before_exit(trainer)}") from None
    return folder


def check(config: Config, *, resume: bool, progress: Progress | None = None) -> None:
    """Report what a run of `config` would train, and how much memory its largest update takes, by making that update.

    Nothing else is trained, and no folder is made. Raises `UserError` where a run would.
    """
    progress = progress or TextProgress()
    folder = Path(config.output_dir) / config.name
    (refuse_other_files if resume else refuse_used)(folder)
    files.require_writable(folder, "output_dir")
    prepared = prepare(config, resumed=folder if resume else None)
    recorded = None
    if resume:
        loaded, damaged = load_last_intact(folder, torch.device("cpu"))
        if damaged is not None:
            print(f"{damaged}. A run would continue from {folder / PREVIOUS}", file=sys.stderr)
        if loaded is not None:
            state_to_continue(config, prepared, loaded, folder / LAST)
            recorded = loaded.config.training.precision
    torch.manual_seed(config.training.seed)
    model = first_model(config, prepared)
    precision = choose_precision(config, prepared.device, recorded)
    summary = summarize(config, folder, prepared, model, precision)
    progress.report("start", summary, summary_text(summary))
    used, batch = _memory_of_an_update(with_precision(config, precision.precision), prepared, model)
    is_gpu = prepared.device.type == "cuda"
    total = torch.cuda.get_device_properties(prepared.device).total_memory if is_gpu else memory()
    for text in (
        f"Memory: {used / GIB:.1f} GiB with the largest batch ({describe_batch(batch)}), of {total / GIB:.1f} GiB",
        f"Everything checked out. The run would be saved in {folder}",
    ):
        progress.report("message", {"text": text}, text)


def _memory_of_an_update(config: Config, prepared: Prepared, model: Seq2Seq) -> tuple[int, Batch]:
    """The most bytes that an update with the largest batch takes, and that batch."""
    training, pairs, device = config.training, prepared.pairs, prepared.device
    train_state = new_train_state(model, training, target_counts=pairs.target_counts)
    source, target = pairs.lengths
    batches = batches_of(pairs, training, epoch=0)
    largest = max(
        (batches[i] for i in range(len(batches))), key=lambda x: len(x) * int(source[x].max() + target[x].max())
    )
    batch = collate(pairs.examples(largest, "check"))
    accumulated = [batch] * min(training.accumulate, 2)  # a third one would take no more memory
    updates = 1 if device.type == "cpu" else 2  # the second one may be captured, in memory of its own
    with report_out_of_memory(lambda: out_of_memory(accumulated, 1)):
        for _ in range(updates):
            update(train_state, accumulated, training, rate=0.0, global_step=0)
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device), batch
    worker = getattr(train_state.add_gradient, "worker", None)  # of nmt.fast
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return used + (worker.peak_memory if worker else 0), batch
