"""A share of teacher forcing that stays."""

from nmt.schedules.teacher_forcing.base import TeacherForcingSchedule


class Constant(TeacherForcingSchedule):
    """The probability stays at `ratio`."""

    def at(self, done: int) -> float:
        return self.ratio
