"""An error that is planted to see whether a test notices it."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """A text that occurs once in a file, what it becomes, and the tests of which one must fail then."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
