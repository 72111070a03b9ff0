import numpy as np
from support.formulas.gated import sigmoid


def step(gates, state, p):
    z, candidate = np.split(gates, 2)
    (h,) = state
    return ((1 - sigmoid(z)) * h + sigmoid(z) * candidate,)
