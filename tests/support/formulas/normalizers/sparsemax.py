import numpy as np


def weights(scores, p):
    """The nearest point of the simplex. Its support has the highest scores: of all sizes the one that is consistent."""
    z, order = np.array(scores), np.argsort(scores)[::-1]
    for size in range(1, len(z) + 1):
        support = order[:size]
        point = np.zeros(len(z))
        point[support] = z[support] - (z[support].sum() - 1) / size
        nothing_more = size == len(z) or z[order[size]] <= (z[support].sum() - 1) / size
        if nothing_more:
            return np.maximum(point, 0)
    raise AssertionError
