import numpy as np
from support.formulas import gru


def step(gates, state, p):
    (h,) = state
    nothing = np.zeros((len(gates), 1)), np.zeros(len(gates))
    for number, share in (("first", gates), ("second", np.zeros_like(gates))):
        h = gru(np.zeros(1), h, (nothing[0], share, p[f"{number}.weight"], p[f"{number}.bias"]))
    return (h,)
