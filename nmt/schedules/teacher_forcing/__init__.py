"""How often the decoder reads the reference. Each schedule is one class in one file, which the config names."""

from nmt.registry import family
from nmt.schedules.teacher_forcing.base import TeacherForcingSchedule

TEACHER_FORCING_SCHEDULES = family(__name__, TeacherForcingSchedule)

__all__ = ["TEACHER_FORCING_SCHEDULES", "TeacherForcingSchedule"]
