"""What the training loop works on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nmt.config.run import Config
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.text.corpus import ParallelText
from nmt.training.distributed import World
from nmt.training.event_log import EventLog
from nmt.training.interruption import StopSignals
from nmt.training.learner import Learner
from nmt.training.pace import Pace
from nmt.training.progress import Progress
from nmt.training.state import State


class Task(NamedTuple):
    """What is trained, on what, where it is saved, and who is told."""

    config: Config
    pairs: TrainingSet
    validation: ParallelText
    model: Seq2Seq
    folder: Path
    world: World
    progress: Progress


class Session(NamedTuple):
    """A task in training: what changes from update to update."""

    task: Task
    state: State
    learner: Learner
    log: EventLog
    pace: Pace
    stop: StopSignals
