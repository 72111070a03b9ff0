import numpy as np

from support.formulas import sigmoid, softmax_over, window_around


def predicted_position(h, source_length, p):
    return source_length * sigmoid(p["v.weight"][0] @ np.tanh(p["hidden.weight"] @ h))


def weights_around(scores, centre, window):
    sigma = window / 2
    weights = softmax_over(scores, window_around(centre, window, len(scores)))
    return np.array([w * np.exp(-((s - centre) ** 2) / (2 * sigma**2)) for s, w in enumerate(weights)])


def weights(h, scores, t, p, options):
    return weights_around(scores, predicted_position(h, len(scores), p), options["window"])
