"""What the training loop works on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from nmt.checkpoint.file import DamagedFile
from nmt.config.run import Config
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.text.corpus import ParallelText
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.event_log import EventLog
from nmt.training.folder import LAST
from nmt.training.interruption import StopSignals
from nmt.training.prepare import Prepared, batches_of
from nmt.training.progress import Progress
from nmt.training.resume import restore, seed_processes
from nmt.training.throughput import ThroughputMeter
from nmt.training.train_state import TrainState, new_train_state


class Trainer(NamedTuple):
    """A run's settings, text and folder, and the values that change from update to update."""

    config: Config
    pairs: TrainingSet
    validation: ParallelText
    folder: Path
    group: ProcessGroup
    progress: Progress
    stop: StopSignals
    train_state: TrainState
    counters: Counters
    log: EventLog
    meter: ThroughputMeter

    def close(self) -> None:
        """End what is shown and written."""
        self.progress.close()
        self.log.close()


def make_trainer(
    config: Config,
    prepared: Prepared,
    model: Seq2Seq,
    folder: Path,
    group: ProcessGroup,
    progress: Progress,
    stop: StopSignals,
    resume_from: dict[str, Any] | None,
) -> Trainer:
    """A trainer that has made no update yet, or that continues from a checkpoint's training state."""
    pairs, training = prepared.pairs, config.training
    train_state = new_train_state(model, training, group, pairs.target_counts)
    counters, metrics_size = Counters(), 0
    if resume_from is None:
        seed_processes(training.seed, group)
    else:
        counters, metrics_size = restore(train_state, resume_from, str(folder / LAST), group)
        count = len(batches_of(pairs, training, counters.epoch, group))
        if counters.batch >= count:
            raise DamagedFile(f"{folder / LAST}: training.state.batch is {counters.batch}, of {count} in an epoch")
    log = EventLog(folder if group.is_main else None, metrics_size, counters.update)
    of_run = config, pairs, prepared.validation, folder, group, progress, stop
    return Trainer(*of_run, train_state, counters, log, ThroughputMeter())
