"""Where training stands between two updates, and what is due there."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nmt.config.training import TrainingConfig


@dataclass
class State:
    """Where training stands between two updates."""

    update: int = 0  # done
    epoch: int = 0  # completed
    batch: int = 0  # done in the current epoch
    validated: int = 0  # the update of the last validation
    best: float | None = None  # the best validation's BLEU or loss
    best_loss: float = math.inf  # and its loss, which decides between equal BLEUs
    since_best: int = 0  # validations since then
    since_reduction: int = 0  # validations without a better score since the learning rate was last reduced
    reductions: int = 0  # of the learning rate, by plateaus
    seconds: float = 0.0  # spent in updates and validations
    nll: float = 0.0  # of the tokens since the last `train` event, in nats
    tokens: int = 0
    skipped: int = 0  # updates since the last `train` event whose loss or gradient was not finite
    skipped_in_row: int = 0


def total_updates(config: TrainingConfig, batches_per_epoch: int) -> int:
    by_epochs = config.max_epochs and config.max_epochs * -(-batches_per_epoch // config.accumulate)
    return min(limit for limit in (config.max_updates, by_epochs) if limit is not None)


def share_done(state: State, config: TrainingConfig, batches: int) -> float:
    """Of the whole training, from 0 to 1, if no early stopping cuts it short."""
    by_updates = state.update / config.max_updates if config.max_updates else 0.0
    by_epochs = (state.epoch + state.batch / batches) / config.max_epochs if config.max_epochs else 0.0
    return min(1.0, max(by_updates, by_epochs))


def epoch_of(state: State) -> int:
    """The number, from 1, of the epoch that the last update belonged to."""
    return state.epoch if state.batch == 0 else state.epoch + 1


def validation_is_due(state: State, config: TrainingConfig) -> bool:
    every = config.validate_every
    boundary = state.batch == 0 if every is None else state.update % every == 0
    return (boundary or why_end(state, config) is not None) and state.update > state.validated


def checkpoint_is_due(state: State, config: TrainingConfig) -> bool:
    return config.checkpoint_every is not None and state.update > 0 and state.update % config.checkpoint_every == 0


def why_end(state: State, config: TrainingConfig) -> str | None:
    """Why training is over, or None."""
    patience = config.early_stopping.patience
    if config.max_updates is not None and state.update >= config.max_updates:
        return f"{state.update} updates"
    if config.max_epochs is not None and state.epoch >= config.max_epochs:
        return f"{state.epoch} epochs"
    if patience is not None and state.since_best >= patience:
        return f"{state.since_best} validations without a better {config.early_stopping.metric}"
    return None
