"""One planted error: a text of a file, what it is replaced by, and the tests of which one must then fail."""

from typing import NamedTuple


class Mutation(NamedTuple):
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def planted(file: str, tests: str, *texts: tuple[str, str]) -> list[Mutation]:
    """Errors (old, new) in one file; `tests` are paths below `tests`, with blanks between them."""
    paths = tuple(f"tests/{path}" for path in tests.split())
    return [Mutation(file, old, new, paths) for old, new in texts]
