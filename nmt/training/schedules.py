"""Numbers that move in training: the learning rate, and the share of teacher forcing."""

from __future__ import annotations

import math

from nmt.config.run import ScheduleConfig, TeacherForcingConfig


def learning_rate(
    config: ScheduleConfig, base: float, update: int, epoch: int, reductions: int, share_done: float
) -> float:
    """The rate for update number `update` (from 1) in epoch number `epoch` (from 1).

    `reductions` counts the plateaus met so far, which the training loop sees at validation; `share_done` is that of
    the whole training, from 0 to 1.
    """
    warm = min(1.0, update / config.warmup) if config.warmup else 1.0
    match config.kind:
        case "constant":
            return base * warm
        case "plateau":
            return base * warm * config.factor**reductions
        case "halving":
            return base * warm * config.factor ** max(0, epoch - config.start_epoch)
        case "inverse_sqrt":
            return base * warm * math.sqrt(config.warmup / max(update, config.warmup))
        case "cosine":
            return base * warm * (1 + math.cos(math.pi * share_done)) / 2


def teacher_forcing_ratio(config: TeacherForcingConfig, done: int) -> float:
    """The probability of reading the reference after `done` updates (Bengio et al. 2015, section 2.4)."""
    decay = config.decay or 0.0
    match config.schedule:
        case "constant":
            return config.ratio
        case "linear":
            ratio = config.ratio - decay * done
        case "exponential":
            ratio = config.ratio * decay**done
        case "inverse_sigmoid":
            # k / (k + exp(i/k)), written so that exp cannot overflow
            ratio = config.ratio / (1 + math.exp(min(done / decay - math.log(decay), 700.0)))
    return max(config.minimum, ratio)
