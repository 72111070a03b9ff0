import numpy as np
from support.formulas.gated import sigmoid


def step(gates, state, p):
    f, i, candidate = np.split(gates, 3)
    (h,) = state
    f, i = sigmoid(f), sigmoid(i)
    return (f / (f + i) * h + i / (f + i) * candidate,)
