"""A run: from a configuration to a folder with checkpoints, metrics and the evaluation."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path

import torch

from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.system import files
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup, is_restart, torchrun_job
from nmt.training.folder import CONFIG, JOB, lock_folder, recorded_job, refuse_other_files, refuse_used
from nmt.training.interruption import StopSignals
from nmt.training.loop import train
from nmt.training.precision import choose_precision, with_precision
from nmt.training.prepare import first_model, prepare
from nmt.training.progress import Progress, TextProgress
from nmt.training.resume import load_last
from nmt.training.summary import summarize
from nmt.training.trainer import make_trainer


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
    if there is none yet. So does a run that torchrun restarts after a failure, in the folder of that job.
    Raises `UserError` before anything is written if config, data or folder do not fit, and `Interrupted` if a stop is
    requested while the data is prepared.
    """
    folder = Path(config.output_dir) / config.name
    progress = (progress or TextProgress()) if group.is_main else Progress()
    [resumes] = group.total(resume or (group.is_main and is_restart() and recorded_job(folder) == torchrun_job()))
    resume = resumes > 0
    (refuse_other_files if resume else refuse_used)(folder)
    with stop.abandoning():
        prepared = prepare(config, group, folder if resume else None)
    with lock_folder(folder) if group.is_main else nullcontext():
        loaded = load_last(config, prepared, folder, group) if resume else None
        if not resume and group.is_main:
            refuse_used(folder)  # once more: another run may have ended there meanwhile
        torch.manual_seed(config.training.seed)
        model = first_model(config, prepared) if loaded is None else loaded.model
        recorded = loaded and loaded.config.training.precision
        precision = choose_precision(config, prepared.device, recorded, group)
        if group.is_main:
            if (job := torchrun_job()) is not None:
                files.write(folder / JOB, job.encode())
            files.write(folder / CONFIG, to_yaml(config).encode())
            progress.start(summarize(config, folder, prepared, model, precision, group))
        config, training = with_precision(config, precision.precision), loaded and loaded.training
        with closing(make_trainer(config, prepared, model, folder, group, progress, stop, training)) as trainer:
            train(trainer)
    return folder
