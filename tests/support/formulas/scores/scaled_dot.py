import numpy as np

from support.formulas.scores import dot


def score(h, v, s, p, c=None):
    return dot.score(h, v, s, p, c) / np.sqrt(len(h))
