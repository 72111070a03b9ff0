"""A run: from a configuration to a folder with checkpoints, metrics and the evaluation."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import torch

from nmt.build import segment_ends
from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.system import files
from nmt.training.distributed import ALONE, World, job, restarted
from nmt.training.folder import CONFIG, JOB, held, job_of, refuse_other_files, refuse_used
from nmt.training.interruption import StopSignals
from nmt.training.loop import train
from nmt.training.precision import choose_precision, with_precision
from nmt.training.prepare import prepare
from nmt.training.progress import Progress, TextProgress
from nmt.training.recorded import Recorder
from nmt.training.resume import load_last
from nmt.training.session import Task
from nmt.training.start import first_model
from nmt.training.summary import summarize


def run(
    config: Config, stop: StopSignals, *, resume: bool, world: World = ALONE, progress: Progress | None = None
) -> Path:
    """Train what `config` describes and return the run's folder, `output_dir/name`. `progress` is text by default.

    A new run needs a new folder; `resume` continues from the folder's `last.pt`, or starts from the beginning if there
    is none yet. So does a run that torchrun restarts after a failure, in the folder of that job.
    Raises `UserError` before anything is written if config, data or folder do not fit, and `Interrupted` if a stop is
    asked for while the data is prepared.
    """
    folder = Path(config.output_dir) / config.name
    progress = (progress or TextProgress()) if world.is_main else Progress()
    [resumes] = world.total(resume or (world.is_main and restarted() and job_of(folder) == job()))
    resume = resumes > 0
    if resume:
        refuse_other_files(folder)
    else:
        refuse_used(folder)  # now, and once more when no other run can start there
    with stop.abandoning():
        prepared = prepare(config, world, folder if resume else None)
    source, target = prepared.pairs.source, prepared.pairs.target
    segment_ends(config.model.attention, source.vocabulary)  # raises what `first_model` would, before there is a folder
    with held(folder) if world.is_main else nullcontext():
        loaded = load_last(config, prepared, folder, world) if resume else None
        if not resume and world.is_main:
            refuse_used(folder)
        torch.manual_seed(config.training.seed)
        if loaded is None:
            model = first_model(config, source, target, prepared.start).to(prepared.device)
        else:
            model = loaded.model
        recorded, in_graphs = loaded and loaded.config.training.precision, Recorder.is_possible(model)
        chosen = choose_precision(config.training.precision, prepared.device, recorded, world, in_graphs=in_graphs)
        if world.is_main:
            if (name := job()) is not None:
                files.write(folder / JOB, name.encode())
            files.write(folder / CONFIG, to_yaml(config).encode())
            progress.summary(summarize(config, folder, prepared, model, chosen, world))
        decided = with_precision(config, chosen.precision)
        task = Task(decided, prepared.pairs, prepared.validation, model, folder, world, progress)
        train(task, stop, loaded.training if loaded else None)
    return folder
