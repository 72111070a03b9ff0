"""The components that a config can name, beside tokenizers: the project's, and those of plugins and packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nmt.registry import Registry

if TYPE_CHECKING:
    from nmt.model.cells import Cell
    from nmt.model.normalizers import Normalizer
    from nmt.model.scopes import Scope
    from nmt.model.scores import Score
    from nmt.optimizers import Optimizer
    from nmt.schedules.learning_rate import LearningRateSchedule
    from nmt.schedules.teacher_forcing import TeacherForcingSchedule

SCORES: Registry[Score] = Registry("nmt.model.scores:Score")
SCOPES: Registry[Scope] = Registry("nmt.model.scopes:Scope", "nmt.model.variants")
CELLS: Registry[Cell] = Registry("nmt.model.cells:Cell")
NORMALIZERS: Registry[Normalizer] = Registry("nmt.model.normalizers:Normalizer")
OPTIMIZERS: Registry[Optimizer] = Registry("nmt.optimizers:Optimizer")
LEARNING_RATE_SCHEDULES: Registry[LearningRateSchedule] = Registry("nmt.schedules.learning_rate:LearningRateSchedule")
TEACHER_FORCING_SCHEDULES: Registry[TeacherForcingSchedule] = Registry(
    "nmt.schedules.teacher_forcing:TeacherForcingSchedule"
)
