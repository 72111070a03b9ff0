import numpy as np
from support.formulas.gated import sigmoid


def step(gates, state, p):
    f, candidate = np.split(gates, 2)
    _, c = state
    c = sigmoid(f) * c + (1 - sigmoid(f)) * candidate
    return np.maximum(c, 0), c
