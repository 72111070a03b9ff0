"""Pairwise testing: in the place of a full product, few cases in which each two values of different axes meet."""

from collections.abc import Callable, Hashable, Iterable
from itertools import combinations, product
from typing import Any


def all_pairs(*axes: Iterable[Hashable], valid: Callable[..., bool] = lambda *_: True) -> list[tuple[Any, ...]]:
    """A small, reproducible set of cases that covers each pair of values of two axes that any valid case has."""
    pairs = {case: set(combinations(enumerate(case), 2)) for case in product(*axes) if valid(*case)}
    missing, cases = set().union(*pairs.values()), []
    while missing:
        case = max(pairs, key=lambda candidate: len(pairs[candidate] & missing))
        missing -= pairs[case]
        cases.append(case)
    return cases
