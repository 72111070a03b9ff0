"""Symmetrisation against an example worked out by hand."""

import pytest

from nmt.align.symmetrization import SYMMETRIZATIONS, symmetrize

# The intersection is 0-0 3-3. Beside 0-0 grow 1-0 and 1-1, beside 3-3 2-2 and 3-4: of each, a word had no link.
# No other link touches these. Of 6-6 neither word has a link; of 0-7 and 5-1 one has.
FORWARD = {(0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (0, 7)}
BACKWARD = {(0, 0), (1, 0), (3, 3), (5, 1), (6, 6)}
GROWN = {(0, 0), (1, 0), (1, 1), (2, 2), (3, 3), (3, 4)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", {(0, 0), (3, 3)}),
        ("union", FORWARD | BACKWARD),
        ("grow-diag-final-and", GROWN | {(6, 6)}),
        ("grow-diag-final", GROWN | {(6, 6), (5, 1), (0, 7)}),
    ],
)
def test_example(method: str, expected: set[tuple[int, int]]) -> None:
    assert method in SYMMETRIZATIONS
    assert symmetrize(FORWARD, BACKWARD, method) == expected
