"""The HMM alignment model against a sum over all alignments of tiny pairs."""

import itertools

import numpy as np
import pytest

from nmt.align import hmm

JUMPS = np.array([0.3, 0.1, 0.7, 1.1, 0.9, 0.2])  # of −2 … 3: for sentences of up to 3 words
RNG = np.random.default_rng(1)
LENGTHS = np.array([4, 2, 3])


def jump(previous: int, position: int, size: int) -> float:
    """p(i | i') without the empty word, as in the paper."""
    weights = [JUMPS[i - previous + 2] for i in range(size)]
    return weights[position] / sum(weights)


def all_alignments(points: np.ndarray, null: np.ndarray) -> dict[tuple[int, ...], float]:
    """The joint probability of each alignment of one pair; −1 is the empty word."""
    steps, size = points.shape
    result = {}
    for alignment in itertools.product(range(-1, size), repeat=steps):
        probability, previous = 1.0, -1
        for step, position in enumerate(alignment):
            if position < 0:
                probability *= hmm.NULL * null[step]
            else:
                probability *= (1 - hmm.NULL) * jump(previous, position, size) * points[step, position]
                previous = position
        result[alignment] = probability
    return result


@pytest.mark.parametrize("size", [1, 2, 3])
def test_posteriors_jumps_and_best_paths_are_those_of_all_alignments(size: int) -> None:
    points, null = RNG.random((4, 3, size)), 30 * RNG.random((4, 3))
    inside = np.arange(4)[:, None] < LENGTHS
    points[~inside], null[~inside] = 1, 1
    moves = hmm.transitions(JUMPS, size)
    result = hmm.posteriors(points, null, moves, LENGTHS)
    best = hmm.best_path(points, null, moves, LENGTHS)
    jumps, log_likelihood = np.zeros((size + 1, size)), 0.0
    for pair, length in enumerate(LENGTHS):
        alignments = all_alignments(points[:length, pair], null[:length, pair])
        total = sum(alignments.values())
        log_likelihood += np.log(total)
        expected = np.zeros((length, size + 1))
        for alignment, probability in alignments.items():
            previous = -1
            for step, position in enumerate(alignment):
                expected[step, position] += probability / total
                if position >= 0:
                    jumps[previous + 1, position] += probability / total
                    previous = position
        np.testing.assert_allclose(result.points[:length, pair], expected[:, :-1], rtol=1e-9)
        np.testing.assert_allclose(result.null[:length, pair], expected[:, -1], rtol=1e-9)
        assert tuple(best[:length, pair]) == max(alignments, key=alignments.__getitem__)
    np.testing.assert_allclose(result.jumps, jumps, rtol=1e-9)
    assert result.log_likelihood == pytest.approx(log_likelihood)


def test_equal_jumps_are_model_1() -> None:
    """Each word then chooses its source word by p(t | s) alone (Brown et al. 1993, section 4.2)."""
    points, null = RNG.random((4, 1, 3)), RNG.random((4, 1))
    result = hmm.posteriors(points, null, hmm.transitions(np.ones(6), 3), np.array([4]))
    weights = np.concatenate([points * (1 - hmm.NULL) / 3, hmm.NULL * null[:, :, None]], axis=2)
    np.testing.assert_allclose(result.points, (weights / weights.sum(axis=2, keepdims=True))[:, :, :3])
