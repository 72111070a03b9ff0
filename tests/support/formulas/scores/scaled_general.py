import numpy as np

from support.formulas.scores import general


def score(h, v, s, p, c=None):
    return general.score(h, v, s, p, c) / np.sqrt(len(h))
