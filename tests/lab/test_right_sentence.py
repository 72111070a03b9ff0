"""How often the sentence with the most attention is the right one."""

import numpy as np

from nmt.evaluation.alignment import Links, WordPairs
from nmt.lab.measure import right_sentence


def test_the_right_sentence_has_the_most_weight_or_not() -> None:
    source = [["a", "b", ".", "c", "!", "!", "d"], ["a", "b", "."]]
    links = [Links(frozenset(), frozenset({(0, 0), (3, 1), (6, 2), (1, 3)})), Links(frozenset(), frozenset({(0, 0)}))]
    first = np.array([
        [0.2, 0.2, 0.2, 0.3, 0.1, 0.0, 0.0],  # sentence 0: right, though the largest weight is in sentence 1
        [0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.4],  # sentence 1: right
        [0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.4],  # sentence 1, not 2
        [0.0] * 7,  # no weight at all
        [1.0] + [0.0] * 6,  # a word without a link
    ])  # fmt: skip
    words = WordPairs(source, [["x"] * 5, ["x"]], links)
    assert right_sentence([first, np.ones((1, 3))], words) == 2 / 4
    assert right_sentence([np.ones((1, 3))], WordPairs(source[1:], [["x"]], links[1:])) is None
