"""The formula of each normalizer.

`weights(scores, p)` are the weights of some positions, at least one, from their scores. p holds the normalizer's
parameters by their names in the module.
"""

import numpy as np


def threshold(weights_above, low, high):
    """The τ between low and high above which weights, which fall with τ, sum to 1: by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if weights_above(middle).sum() > 1 else (low, middle)
    return low


def alpha_entmax(scores, alpha):
    """Peters, Niculae and Martins 2019, section 3: τ is wherever the weights sum to 1."""
    z = (alpha - 1) * np.array(scores)

    def weights_above(tau):
        return np.maximum(z - tau, 0) ** (1 / (alpha - 1))

    return weights_above(threshold(weights_above, z.max() - 1, z.max()))
