import numpy as np
from support.formulas.gated import sigmoid


def step(gates, state, p):
    z, f, o = np.split(gates, 3)
    _, c = state
    c = sigmoid(f) * c + (1 - sigmoid(f)) * np.tanh(z)
    return sigmoid(o) * c, c
