"""How far training has come between two updates, as checkpoints keep it, and what is due there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from nmt.config.training import TrainingConfig
from nmt.system.wording import counted

Number = Annotated[int, Field(ge=0, lt=2**63)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Score = Annotated[float, Field(ge=0)]


@dataclass
class Counters:
    """How far training has come between two updates."""

    update: Number = 0  # updates made
    epoch: Number = 0  # epochs completed
    batch: Number = 0  # batches read of the current epoch
    validated: Number = 0  # the update of the last validation
    best: Score | None = None  # BLEU or loss of the best validation
    best_loss: Score = math.inf  # the loss of the best validation, which decides between equal BLEUs
    since_best: Number = 0  # validations since the best one
    since_reduction: Number = 0  # validations without a better score since the learning rate was last reduced
    reductions: Number = 0  # how often a plateau has reduced the learning rate
    rate: Amount = 0.0  # the learning rate of the last update
    seconds: Amount = 0.0  # time spent in updates and validations
    nll: Amount = 0.0  # negative log-likelihood, in nats, of the target tokens since the last `train` event
    tokens: Number = 0  # target tokens since the last `train` event
    source_tokens: Number = 0  # the same of the source
    update_seconds: Amount = 0.0  # time spent in updates since the last `train` event
    skipped: Number = 0  # updates since the last `train` event whose loss or gradient was not finite
    skipped_in_row: Number = 0  # the latest updates, without a gap, whose loss or gradient was not finite

    @property
    def epoch_number(self) -> int:
        """The number, from 1, of the epoch that the last update belonged to."""
        return self.epoch if self.batch == 0 else self.epoch + 1

    @property
    def mean_loss(self) -> float:
        """Of the updates since the last `train` event, in nats per target token; nan if all of them were skipped."""
        return self.nll / self.tokens if self.tokens else math.nan

    @property
    def speed(self) -> tuple[float, float]:
        """Source and target tokens per second since the last `train` event, without padding; nan before an update."""
        seconds = self.update_seconds or math.nan
        return self.source_tokens / seconds, self.tokens / seconds

    def record_update(self, nll: float, tokens: tuple[int, int], batches: int, rate: float) -> None:
        """Count an update on so many source and target tokens, and batches. `nll` is their sum, or nan if skipped."""
        self.update += 1
        self.rate = rate
        self.batch += batches
        if math.isfinite(nll):
            self.skipped_in_row = 0
            self.nll += nll
            self.source_tokens += tokens[0]
            self.tokens += tokens[1]
        else:
            self.skipped += 1
            self.skipped_in_row += 1

    def reset_measures(self) -> None:
        """Start to measure loss and speed for the next `train` event."""
        self.nll, self.tokens, self.source_tokens, self.update_seconds, self.skipped = 0.0, 0, 0, 0.0, 0

    def record_validation(self, loss: float, bleu: float, config: TrainingConfig) -> None:
        """Count a validation: `since_best` is 0 if it is the best so far. A plateau reduces the learning rate."""
        self.validated = self.update
        by_bleu = config.early_stopping.metric == "bleu"
        score, best = (bleu, self.best) if by_bleu else (0.0, 0.0)  # by loss alone: the scores are equal
        if self.best is None or (score, -loss) > (best, -self.best_loss):
            self.best, self.best_loss = bleu if by_bleu else loss, loss
            self.since_best = self.since_reduction = 0
            return
        self.since_best += 1
        if config.schedule.kind == "plateau":
            self.since_reduction += 1
            if self.since_reduction >= config.schedule.patience:
                self.reductions, self.since_reduction = self.reductions + 1, 0

    def fraction_completed(self, config: TrainingConfig, batches_per_epoch: int) -> float:
        """Of the whole training, from 0 to 1, if no early stopping cuts it short."""
        by_updates = self.update / config.max_updates if config.max_updates else 0.0
        epochs = self.epoch + self.batch / batches_per_epoch
        return min(1.0, max(by_updates, epochs / config.max_epochs if config.max_epochs else 0.0))

    def seconds_left(self, config: TrainingConfig, batches_per_epoch: int) -> float:
        """How long the rest of training takes if it is as fast as it was so far, validations included."""
        share = self.fraction_completed(config, batches_per_epoch)
        return self.seconds * (1 - share) / share

    def validation_is_due(self, config: TrainingConfig) -> bool:
        every = config.validate_every
        boundary = self.batch == 0 if every is None else self.update % every == 0
        return (boundary or self.why_end(config) is not None) and self.update > self.validated

    def checkpoint_is_due(self, config: TrainingConfig) -> bool:
        return config.checkpoint_every is not None and self.update > 0 and self.update % config.checkpoint_every == 0

    def why_end(self, config: TrainingConfig) -> str | None:
        """Why training is over, or None."""
        patience = config.early_stopping.patience
        if config.max_updates is not None and self.update >= config.max_updates:
            return counted(self.update, "update")
        if config.max_epochs is not None and self.epoch >= config.max_epochs:
            return counted(self.epoch, "epoch")
        if patience is not None and self.since_best >= patience:
            return f"{counted(self.since_best, 'validation')} without a better {config.early_stopping.metric}"
        return None


def total_updates(config: TrainingConfig, batches_per_epoch: int) -> int:
    """The number of updates at which training ends, if no early stopping cuts it short."""
    by_epochs = config.max_epochs and config.max_epochs * -(-batches_per_epoch // config.accumulate)
    return min(limit for limit in (config.max_updates, by_epochs) if limit is not None)
