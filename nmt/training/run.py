"""A run: from a configuration to a folder with checkpoints and metrics; and the check of what a run would do."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import torch

from nmt import addons
from nmt.checkpoint.contents import Loaded
from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.data.batching import Batch, collate
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.system import files
from nmt.system.device import flush_denormals, memory, peak_memory, report_out_of_memory
from nmt.system.errors import UserError
from nmt.system.wording import counted
from nmt.training.checkpointing import Trainer, load_last, restore, save
from nmt.training.counters import Counters, total_updates
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.event_log import EventLog, RemovedFile
from nmt.training.folder import CONFIG, LAST, lock_folder, require_folder
from nmt.training.interruption import StopSignals
from nmt.training.loop import out_of_memory, train
from nmt.training.prepare import Prepared, as_recorded, batches_of, choose_precision, first_model, prepare
from nmt.training.update import TrainState, new_train_state, update
from nmt.training.validation import describe_batch

GIB = 2**30
TRIED = 10  # updates that tell how long training takes


@flush_denormals()
def run(config: Config, stop: StopSignals, *, resume: bool, group: ProcessGroup = SINGLE_PROCESS) -> Path:
    """Train what `config` describes and return the run's folder, `output_dir/name`.

    `resume` continues from the folder's `last.safetensors`, or begins if there is none. Raises `UserError` before
    anything is written if config, data or folder do not fit. From the first update on, signals end it by `stop`.
    """
    folder = Path(config.output_dir) / config.name
    require_folder(folder, resume=resume)
    room = addons.offered("trackers") if group.is_main else None
    trackers = room.load(config.training.trackers) if room else None
    prepared = prepare(config, group, folder if resume else None)
    with lock_folder(folder) if group.is_main else nullcontext():
        last = load_last(config, prepared, folder, group, repair=True) if resume else None
        if not resume and group.is_main:
            require_folder(folder, resume=False)  # once more: another run may have ended there meanwhile
        loaded, saved = last or (None, None)
        if group.is_main:
            files.write(folder / CONFIG, to_yaml(config).encode())
        config, model = _begin(config, folder, prepared, loaded, group)
        pairs = prepared.pairs
        train_state = _train_state(config, model, pairs, group)
        counters, metrics_size = (saved.state, saved.metrics_size) if saved else (Counters(), 0)
        if saved:
            restore(train_state, saved, folder / LAST, group)
        began = folder, config.model_dump(mode="json"), counters.update
        with (
            room.following(trackers, *began) if room else nullcontext() as follow,
            closing(EventLog(folder if group.is_main else None, metrics_size, follow)) as log,
            stop.installed(),
        ):
            of_run = config, pairs, prepared.validation, folder, group, stop
            trainer = Trainer(*of_run, train_state, counters, log)
            try:
                train(trainer)
            except RemovedFile as error:
                if group.size > 1:  # which would have to save together
                    raise
                save(trainer)
                raise UserError(f"{error}, from update {counters.update}: its state is saved") from None
    return folder


def check(config: Config, *, resume: bool) -> None:
    """Report what a run of `config` would train, the memory of its largest update, and how long training takes.

    For that, a few updates are made of a model that is not kept. Raises `UserError` where a run would.
    """
    folder = Path(config.output_dir) / config.name
    require_folder(folder, resume=resume)
    files.require_writable(folder, "output_dir")
    if (room := addons.offered("trackers")) is not None:
        room.load(config.training.trackers)
    prepared = prepare(config, resumed=folder if resume else None)
    loaded, _ = (load_last(config, prepared, folder, repair=False) if resume else None) or (None, None)
    config, model = _begin(config, folder, prepared, loaded)
    used, largest, seconds = _try_updates(config, prepared, model)
    is_gpu = prepared.device.type == "cuda"
    total = torch.cuda.get_device_properties(prepared.device).total_memory if is_gpu else memory()
    batches = len(batches_of(prepared.pairs, config.training, epoch=0))
    whole = seconds * total_updates(config.training, batches) * config.training.accumulate / 60
    print(f"Memory: {used / GIB:.1f} GiB with the largest batch ({describe_batch(largest)}), of {total / GIB:.1f} GiB")
    print(f"Time: at most {seconds * batches / 60:.1f} minutes per epoch, {whole:.1f} in all, plus validation")
    print(f"Everything checked out. The run would be saved in {folder}")


def _train_state(
    config: Config, model: Seq2Seq, pairs: TrainingSet, group: ProcessGroup = SINGLE_PROCESS
) -> TrainState:
    """The state before the first update."""
    room = addons.offered("minimum_risk" if config.training.minimum_risk else "latent_objective")
    objective = room and room.objective_of(config, pairs.target)
    return new_train_state(model, config.training, group, pairs.target_counts, objective)


def _begin(
    config: Config, folder: Path, prepared: Prepared, loaded: Loaded | None, group: ProcessGroup = SINGLE_PROCESS
) -> tuple[Config, Seq2Seq]:
    """The config with the precision that `auto` is here, and the model to train; reports the essentials of both."""
    room = addons.offered("corpus_advice")
    for line in room.advice(prepared.pairs) if room and group.is_main and loaded is None else ():
        print(line, file=sys.stderr)
    torch.manual_seed(config.training.seed + group.rank)  # the first process's initial weights become those of all
    model = loaded.model if loaded else first_model(config, prepared)
    recorded = loaded.config.training.precision if loaded else None
    config = as_recorded(config, choose_precision(config, prepared.device, recorded, group), prepared.pairs)
    print(_summary(config, folder, prepared, model, group), flush=True)
    return config, model


def _summary(config: Config, folder: Path, prepared: Prepared, model: Seq2Seq, group: ProcessGroup) -> str:
    """A screen of text about a run that begins."""
    pairs, attention, training = prepared.pairs, config.model.attention, config.training
    kind = f"{attention.wiring} wiring, {attention.score} score, {attention.scope.replace('_', '-')} scope"
    parameters = sum(parameter.numel() for parameter in model.parameters())
    batches = len(batches_of(pairs, training, 0, group))
    lines = {
        "Run": f"{folder} (all settings are in its config.yaml)",
        "Corpus": f"{config.data.corpus}, {config.data.source.language}→{config.data.target.language}: "
        f"{counted(len(pairs), 'training pair')} ({pairs.skipped}), "
        f"{counted(len(prepared.validation.source), 'validation pair')}",
        "Vocabulary": f"{len(pairs.source.vocabulary)} source tokens, {len(pairs.target.vocabulary)} target tokens, "
        "special ones included",
        "Model": f"{'no attention' if attention.wiring == 'none' else kind}; {parameters:,} parameters",
        "Training": f"{counted(total_updates(training, batches), 'update')}; {batches} batches per epoch",
        "Device": f"{prepared.device}, {counted(torch.get_num_threads(), 'thread')}"
        f"{f' in each of {group.size} processes' if group.size > 1 else ''}, {training.precision}",
    }
    return "\n".join([*(f"{name:<12}{text}" for name, text in lines.items()), ""])


def _try_updates(config: Config, prepared: Prepared, model: Seq2Seq) -> tuple[int, Batch, float]:
    """The most bytes that an update with the largest batch takes, that batch, and the seconds that a batch takes."""
    training, pairs, device = config.training, prepared.pairs, prepared.device
    train_state = _train_state(config, model, pairs)

    def make_update(batches: Sequence[Batch]) -> None:
        with report_out_of_memory(lambda: out_of_memory(batches, 1)):
            update(train_state, batches, training, rate=0.0, global_step=0)

    source, target = pairs.lengths
    batches = batches_of(pairs, training, epoch=0)
    largest = max(batches, key=lambda indices: len(indices) * int(source[indices].max() + target[indices].max()))
    batch = collate(pairs.examples(largest, "check"))
    for _ in range(1 if device.type == "cpu" else 2):  # the second one may be captured, in memory of its own
        make_update([batch] * min(training.accumulate, 2))  # a third one would take no more memory
    used = torch.cuda.max_memory_reserved(device) if device.type == "cuda" else peak_memory()
    some = [batches[i * len(batches) // TRIED] for i in range(TRIED)]
    started = time.monotonic()
    for indices in some:
        make_update([collate(pairs.examples(indices, "check"))])
    return used, batch, (time.monotonic() - started) / TRIED
