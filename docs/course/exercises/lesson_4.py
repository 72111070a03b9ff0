"""What the checks of lesson 4 are made of: references in NumPy, mistakes that are often made, and their hints."""

import numpy as np
from numpy.typing import NDArray

from nmt.course.checking import Answer, Exercise

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Lengths = NDArray[np.int64]


def softmax(scores: Array) -> Array:
    """Over the last dimension. A row without any finite score gets NaN, as in PyTorch."""
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


# 4.1 The window ------------------------------------------------------------------------------------------------------
def window_arguments(rng: np.random.Generator) -> tuple[Array, Lengths, int, int]:
    """The centres: a whole number, one near the beginning, one beside padding, one at the end, one between two."""
    return np.array([6.0, 0.3, 5.8, 11.9, 6.5]) + 0 * rng.normal(), np.array([12, 12, 7, 12, 12]), 12, 3


def window(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    s = np.arange(size)
    return (np.abs(s - centre[:, None]) <= radius) & (s < lengths[:, None])


def window_over_padding(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    return np.abs(np.arange(size) - centre[:, None]) <= radius


def window_without_edges(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    s = np.arange(size)
    return (np.abs(s - centre[:, None]) < radius) & (s < lengths[:, None])


def window_of_rounded(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    return window(np.round(centre), lengths, size, radius)


def window_of_width(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    return window(centre, lengths, size, radius / 2)  # type: ignore[arg-type]


def window_moved_inwards(centre: Array, lengths: Lengths, size: int, radius: int) -> Mask:
    return window(np.clip(centre, radius, lengths - 1 - radius), lengths, size, radius)


# 4.2 The softmax in a window -----------------------------------------------------------------------------------------
def softmax_arguments(rng: np.random.Generator) -> tuple[Array, Mask]:
    return rng.normal(size=(3, 7)), np.abs(np.arange(7) - np.array([[1], [3], [6]])) <= 2


def window_softmax(scores: Array, inside: Mask) -> Array:
    return softmax(np.where(inside, scores, -np.inf))


# 4.5 The predicted centre --------------------------------------------------------------------------------------------
def centre_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array, Lengths]:
    """W_p is square, so that a transposed one raises nothing; a shorter source stands beside a long one."""
    return rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), rng.normal(size=4), np.array([9, 5, 12])


def predicted_centre(hidden: Array, w_p: Array, v_p: Array, lengths: Lengths) -> Array:
    return lengths / (1 + np.exp(-np.tanh(hidden @ w_p.T) @ v_p))


# 4.6 Local-p ---------------------------------------------------------------------------------------------------------
def weights_arguments(rng: np.random.Generator) -> tuple[Array, Array, Lengths, int]:
    return rng.normal(size=(3, 12)), np.array([5.3, 0.4, 6.6]), np.array([12, 12, 7]), 3


def gaussian(size: int, centre: Array, sigma: float) -> Array:
    return np.exp(-((np.arange(size) - centre[:, None]) ** 2) / (2 * sigma**2))


def local_p_weights(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    inside = window(centre, lengths, scores.shape[1], radius)
    return window_softmax(scores, inside) * gaussian(scores.shape[1], centre, radius / 2)


def weights_normalised(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    weights = local_p_weights(scores, centre, lengths, radius)
    return weights / weights.sum(axis=1, keepdims=True)


def weights_of_wide_gaussian(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    inside = window(centre, lengths, scores.shape[1], radius)
    return window_softmax(scores, inside) * gaussian(scores.shape[1], centre, radius)


def weights_without_window(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    real = np.arange(scores.shape[1]) < lengths[:, None]
    return window_softmax(scores, real) * gaussian(scores.shape[1], centre, radius / 2)


def weights_cut_late(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    inside = window(centre, lengths, scores.shape[1], radius)
    return weights_without_window(scores, centre, lengths, radius) * inside


def weights_without_two(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    inside = window(centre, lengths, scores.shape[1], radius)
    return window_softmax(scores, inside) * gaussian(scores.shape[1], centre, radius / 2) ** 2


def weights_without_gaussian(scores: Array, centre: Array, lengths: Lengths, radius: int) -> Array:
    return window_softmax(scores, window(centre, lengths, scores.shape[1], radius))


# 4.10 Hard attention -------------------------------------------------------------------------------------------------
def reinforce_arguments(rng: np.random.Generator) -> tuple[Array, Array, int, float]:
    return rng.normal(size=5), rng.uniform(1, 4, size=5), int(rng.integers(5)), float(rng.uniform(0.5, 0.9))


def score_gradient(scores: Array, sample: int) -> Array:
    """Of log α at the sample, with respect to the scores."""
    return (np.arange(len(scores)) == sample) - softmax(scores)


def reinforce_gradient(scores: Array, losses: Array, sample: int, baseline: float) -> Array:
    return (losses[sample] - baseline) * score_gradient(scores, sample)


EXERCISES = {
    "4.1": Exercise(
        "window",
        window_arguments,
        window,
        {
            "Padding is in the window. Positions from the sentence's length on are padding.": window_over_padding,
            "The edges p − D and p + D belong to the window: ≤, and not <.": window_without_edges,
            "The centre is a real number here. Do not round it.": window_of_rounded,
            "D is the distance to each side: the window is 2D + 1 wide.": window_of_width,
            "At the ends the window is cut off, and not moved inwards.": window_moved_inwards,
        },
    ),
    "4.2": Exercise(
        "window_softmax",
        softmax_arguments,
        window_softmax,
        {
            "A score of 0 is no weight of 0: exp(0) is 1. What score has the weight 0?": lambda scores, inside: softmax(
                np.where(inside, scores, 0)
            ),
            "The weights in the window do not sum to 1: mask before the softmax.": lambda scores, inside: (
                softmax(scores) * inside
            ),
            "The mask is reversed: fill where a position is not inside.": lambda scores, inside: softmax(
                np.where(inside, -np.inf, scores)
            ),
            "The mask is not used.": lambda scores, inside: softmax(scores),
        },
    ),
    "4.3": Answer(
        "answer_4_3",
        digest="e8bf674109924f46",
        hints={
            "1050": "50 windows of 21 positions, but those near either end of the source are cut off.",
            "2500": "That is global attention: 50 times 50.",
            "1000": "A window has 2D + 1 positions, and those near the ends are cut off.",
            "830": "Each end misses 10 + 9 + … + 1 positions, which is 55 and not 110.",
            "995": "You have cut off one end. There are two.",
        },
    ),
    "4.4": Answer(
        "answer_4_4",
        digest="5ca9f806de881aec",
        hints={
            "5": "At D = 5 the curve is still below 95 %.",
            "7": "There is a smaller one.",
            "4": "The curve is at 87 % there.",
            "8": "There is a smaller one.",
        },
    ),
    "4.5": Exercise(
        "predicted_centre",
        centre_arguments,
        predicted_centre,
        {
            "S is the length of each sentence, and not that of the longest one in the batch.": (
                lambda hidden, w_p, v_p, lengths: predicted_centre(hidden, w_p, v_p, lengths.max())
            ),
            "Equation 9 has S · sigmoid(…), and not (S − 1) · sigmoid(…).": lambda hidden, w_p, v_p, lengths: (
                predicted_centre(hidden, w_p, v_p, lengths - 1)
            ),
            "The tanh is missing.": lambda hidden, w_p, v_p, lengths: lengths / (1 + np.exp(-hidden @ w_p.T @ v_p)),
            "The sigmoid is missing: the centre must be between 0 and S.": lambda hidden, w_p, v_p, lengths: (
                lengths * (np.tanh(hidden @ w_p.T) @ v_p)
            ),
            "W_p is transposed: for rows of vectors, W_p h is hidden @ w_p.T.": lambda hidden, w_p, v_p, lengths: (
                predicted_centre(hidden, w_p.T, v_p, lengths)
            ),
            "The factor S is missing: this is a share, and not a position.": lambda hidden, w_p, v_p, lengths: (
                predicted_centre(hidden, w_p, v_p, lengths) / lengths
            ),
        },
    ),
    "4.6": Exercise(
        "local_p_weights",
        weights_arguments,
        local_p_weights,
        {
            "Do not normalise the product: in the paper the weights sum to less than 1.": weights_normalised,
            "σ is D/2, and not D.": weights_of_wide_gaussian,
            "The softmax is over the window alone; here it is over the whole source.": weights_without_window,
            "The softmax is over the whole source, and the window is cut out after it.": weights_cut_late,
            "The Gaussian's exponent is −(s − p)² / (2σ²). The 2 is missing.": weights_without_two,
            "The Gaussian is missing.": weights_without_gaussian,
        },
    ),
    "4.7": Answer(
        "answer_4_7",
        digest="37bea9cd892a6e92",
        hints={
            "1.0": "After the softmax they sum to 1. What is each of them multiplied by then?",
            "1": "After the softmax they sum to 1. What is each of them multiplied by then?",
            "0.6": "Nearly. Give two decimals.",
            "0.57": "Nearly: sum the 21 values, and do not integrate.",
            "0.8": "Is your σ D/2? Then the Gaussian at the edges is exp(−2) = 0.14.",
            "0.84": "Is your σ D/2? Then the Gaussian at the edges is exp(−2) = 0.14.",
        },
    ),
    "4.8": Answer(
        "answer_4_8",
        digest="27f58685313158f0",
        hints={
            "a": "Move p by a little, to 12.1. Does the weight of position 30 change?",
            "c": "Move p by a little, to 12.1. Does the weight of position 30 change?",
        },
    ),
    "4.9": Answer(
        "answer_4_9",
        digest="b439eb87b912780c",
        hints={
            "a": "Look at the last column of the table.",
            "b": "Its windows follow the diagonal from the beginning. Look at the last column of the table.",
            "d": "Look at the last column of the table.",
        },
    ),
    "4.10": Exercise(
        "reinforce_gradient",
        reinforce_arguments,
        reinforce_gradient,
        {
            "The sign: it is 1 at ŝ, minus the weights.": lambda scores, losses, sample, baseline: (
                -reinforce_gradient(scores, losses, sample, baseline)
            ),
            "The baseline is not subtracted.": lambda scores, losses, sample, baseline: (
                losses[sample] * score_gradient(scores, sample)
            ),
            "That is the gradient of α_ŝ, and not of log α_ŝ: there is a factor α_ŝ too many.": (
                lambda scores, losses, sample, baseline: (
                    reinforce_gradient(scores, losses, sample, baseline) * softmax(scores)[sample]
                )
            ),
            "The weights are missing: 1 at ŝ, minus α_s at each position.": lambda scores, losses, sample, baseline: (
                (losses[sample] - baseline) * (np.arange(len(scores)) == sample)
            ),
            "Only the loss of the sampled position is known, not all of them.": (
                lambda scores, losses, sample, baseline: (losses - baseline) * score_gradient(scores, sample)
            ),
        },
    ),
    "4.11": Answer(
        "answer_4_11",
        digest="85246087728aec8d",
        hints={
            "a": "What is the mean of the gradient of log α_ŝ over all samples, each as often as its weight?",
            "c": "What is the mean of the gradient of log α_ŝ over all samples, each as often as its weight?",
        },
    ),
}
