"""What the training loop works on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from nmt.config.run import Config
from nmt.data.training_set import TrainingSet
from nmt.text.corpus import ParallelText
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.event_log import EventLog
from nmt.training.interruption import StopSignals
from nmt.training.progress import Progress, ThroughputMeter
from nmt.training.train_state import TrainState


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

    def log_event(self, event: str, **values: Any) -> dict[str, Any]:
        """Add an event of this moment to `metrics.jsonl`, and return it."""
        return self.log.write(event, self.counters.update, self.counters.epoch_number, **values)

    def close(self) -> None:
        """End what is shown and written."""
        self.progress.close()
        self.log.close()
