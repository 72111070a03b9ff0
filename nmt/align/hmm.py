"""The HMM alignment model (Vogel et al. 1996; Och and Ney 2003, section 2.1.1), for a batch of pairs.

Each position j of one side comes from a position a_j of the other side, or from the empty word:
p(f, a | e) = ∏_j p(a_j | a_{j−1}) · p(f_j | e_{a_j}), with p(i | i') = (1 − p₀) · c(i − i') / Σ_k c(k − i'). The empty
word is chosen with p₀, and the next jump then starts at the last position that was not empty (−1 at first).

Shapes: B pairs, J positions of the side that is generated, I of the other, the same I in a whole batch. Steps after the
end of a pair have emissions of 1, which change neither its likelihood nor its posteriors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

NULL = 0.02  # p₀


class Posteriors(NamedTuple):
    """Of a batch: the probability of each alignment point and of the empty word; how often each jump is expected."""

    points: Float[np.ndarray, "J B I"]
    null: Float[np.ndarray, "J B"]
    jumps: Float[np.ndarray, "I+1 I"]  # from −1 … I − 1 to 0 … I − 1
    log_likelihood: float


def transitions(jumps: Float[np.ndarray, " 2N"], size: int) -> Float[np.ndarray, "I+1 I"]:
    """(1 − p₀) p(i | i') for i' = −1 … I − 1, from the weights c of the jumps −N + 1 … N."""
    weights = jumps[jump_index(size, len(jumps))]
    return (1 - NULL) * weights / weights.sum(axis=1, keepdims=True)


def jump_index(size: int, jumps: int) -> Int[np.ndarray, "I+1 I"]:
    """The place of each jump, from −1 … I − 1 to 0 … I − 1, among the jumps −N + 1 … N."""
    return np.arange(size) - np.arange(-1, size)[:, None] + jumps // 2 - 1


def posteriors(
    emissions: Float[np.ndarray, "J B I"],
    null: Float[np.ndarray, "J B"],
    moves: Float[np.ndarray, "I+1 I"],
    lengths: Int[np.ndarray, " B"],
) -> Posteriors:
    """Forward-backward (Baum 1972), each step scaled to sum to 1. A state is the last position that was not empty."""
    steps, batch, size = emissions.shape
    before = np.zeros((steps + 1, batch, size + 1))  # the states before each step, and after the last
    before[0, :, 0] = 1
    points = np.empty((steps, batch, size))
    scale = np.empty((steps, batch))
    for j in range(steps):
        np.multiply(before[j] @ moves, emissions[j], out=points[j])
        np.multiply(before[j], NULL * null[j, :, None], out=before[j + 1])
        before[j + 1, :, 1:] += points[j]
        scale[j] = before[j + 1].sum(axis=1)
        before[j + 1] /= scale[j, :, None]
    points /= scale[:, :, None]
    empty = np.empty((steps, batch))
    jumps = np.zeros_like(moves)
    after = np.ones((batch, size + 1))
    for j in reversed(range(steps)):
        stay = after * (NULL * null[j] / scale[j])[:, None]
        arrive = emissions[j] * after[:, 1:] / scale[j, :, None]
        points[j] *= after[:, 1:]
        empty[j] = (before[j] * stay).sum(axis=1)
        jumps += (before[j] * (j < lengths)[:, None]).T @ arrive
        after = arrive @ moves.T + stay
    return Posteriors(points, empty, jumps * moves, float(np.log(scale).sum()))


def best_path(
    emissions: Float[np.ndarray, "J B I"],
    null: Float[np.ndarray, "J B"],
    moves: Float[np.ndarray, "I+1 I"],
    lengths: Int[np.ndarray, " B"],
) -> Int[np.ndarray, "J B"]:
    """The most probable alignment (Viterbi 1967): the position that each step comes from, −1 for the empty word."""
    steps, batch, size = emissions.shape
    log_moves = np.log(moves)
    score = np.full((batch, size + 1), -np.inf)
    score[:, 0] = 0
    origins = np.empty((steps, batch, size), dtype=np.int32)  # the state before each point
    is_empty = np.ones((steps, batch, size + 1), dtype=bool)
    for j in range(steps):
        inside = (j < lengths)[:, None]
        paths = score[:, :, None] + log_moves
        origins[j] = paths.argmax(axis=1)
        points = np.take_along_axis(paths, origins[j][:, None], axis=1)[:, 0] + np.log(emissions[j])
        score = score + np.where(inside, np.log(NULL * null[j])[:, None], 0)
        is_empty[j, :, 1:] = (score[:, 1:] >= points) | ~inside
        np.copyto(score[:, 1:], points, where=~is_empty[j, :, 1:])
    result = np.empty((steps, batch), dtype=np.int32)
    state, rows = score.argmax(axis=1), np.arange(batch)
    for j in reversed(range(steps)):
        stays = is_empty[j, rows, state]
        result[j] = np.where(stays, -1, state - 1)
        state = np.where(stays, state, origins[j, rows, state - 1])
    return result
