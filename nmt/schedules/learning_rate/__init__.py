"""How the learning rate moves. Each schedule is one class in one file, which `training.schedule.kind` names."""

from nmt.registry import family
from nmt.schedules.learning_rate.base import LearningRateSchedule, Now

LEARNING_RATE_SCHEDULES = family(__name__, LearningRateSchedule)

__all__ = ["LEARNING_RATE_SCHEDULES", "LearningRateSchedule", "Now"]
