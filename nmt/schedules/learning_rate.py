"""How the learning rate changes during training. `training.schedule.kind` selects one of these schedules."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

from nmt.registry import Count, Fraction, Section, StepCount


class ScheduleStep(NamedTuple):
    """The point in training that a learning rate is for."""

    update: int  # the number of the next update, from 1
    epoch: int  # the number of its epoch, from 1
    reductions: int  # plateaus of the validation score so far
    share_done: float  # of the whole training, from 0 to 1


Now = ScheduleStep  # its name in version 0.3


class LearningRateSchedule(Section):
    """A schedule of the learning rate. Its options are its own fields."""

    name: ClassVar[str]  # in the config

    warmup: StepCount = 0
    """Updates over which the learning rate first rises linearly from 0."""

    def rate(self, base: float, step: ScheduleStep) -> float:
        """The learning rate of the next update, where `base` is `training.learning_rate`."""
        warmup_factor = min(1.0, step.update / self.warmup) if self.warmup else 1.0
        return self.scheduled(base * warmup_factor, step)

    @abstractmethod
    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        """The same, from the rate after the factor of the warmup."""


class Constant(LearningRateSchedule):
    """The learning rate stays as it is."""

    name = "constant"

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate


class Cosine(LearningRateSchedule):
    """The learning rate falls to 0 over the whole training by a cosine (Loshchilov and Hutter 2017, equation 5)."""

    name = "cosine"

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate * (1 + math.cos(math.pi * step.share_done)) / 2


class Halving(LearningRateSchedule):
    """After each epoch from `start_epoch` on, the learning rate is multiplied by `factor` (Luong et al. 2015, 4.1)."""

    name = "halving"

    factor: Fraction = 0.5
    """What the learning rate is multiplied by."""
    start_epoch: Count = 5
    """The first epoch (from 1) after which the learning rate falls."""

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate * self.factor ** max(0, step.epoch - self.start_epoch)


class InverseSqrt(LearningRateSchedule):
    """After warmup the learning rate is in proportion to 1/√i at the i-th update (Vaswani et al. 2017, section 5.3)."""

    name = "inverse_sqrt"

    warmup: Count = 1000

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate * math.sqrt(self.warmup / max(step.update, self.warmup))


class Plateau(LearningRateSchedule):
    """After `patience` validations without a better score, the learning rate is multiplied by `factor`."""

    name = "plateau"

    factor: Fraction = 0.5
    """What the learning rate is multiplied by."""
    patience: Count = 1
    """Validations without a better score before the learning rate falls."""

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate * self.factor**step.reductions


class WarmupStableDecay(LearningRateSchedule):
    """The learning rate falls linearly to 0 over the last part of training (Zhai et al. 2022, section 3.5)."""

    name = "warmup_stable_decay"

    decay: Fraction = 0.2
    """The share of the training, at its end, over which the learning rate falls."""

    def scheduled(self, rate: float, step: ScheduleStep) -> float:
        return rate * min(1.0, (1 - step.share_done) / self.decay)
