import numpy as np

from support.formulas import softmax, weights_over, window_around
from support.formulas.gated import sigmoid


def predicted_position(h, source_length, p, t=0, initial_position="middle"):
    """With the diagonal, what is learnt multiplies the odds of the middle of the t-th of S equal parts."""
    learnt = p["v.weight"][0] @ np.tanh(p["hidden.weight"] @ h)
    if initial_position == "middle":
        return source_length * sigmoid(learnt)
    before = min(t, source_length - 1) + 0.5
    odds = before / (source_length - before) * np.exp(learnt)
    return source_length * odds / (1 + odds)


def weights_around(scores, centre, window, normalized=softmax):
    sigma = window / 2
    weights = weights_over(scores, window_around(centre, window, len(scores)), normalized)
    return np.array([w * np.exp(-((s - centre) ** 2) / (2 * sigma**2)) for s, w in enumerate(weights)])


def weights(h, scores, t, p, options):
    centre = predicted_position(h, len(scores), p, t, options["initial_position"])
    return weights_around(scores, centre, options["window"], options["normalized"])
