import numpy as np


def score(h, v, s, p, c=None):
    w_a, parts = [p["query.weight"][0], p["memory.weight"][0]], [h, v]
    if c is not None:
        w_a, parts = [*w_a, p["coverage.weight"][0]], [*parts, [c]]
    return np.concatenate(w_a) @ np.concatenate(parts)
