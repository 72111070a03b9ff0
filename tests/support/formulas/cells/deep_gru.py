import numpy as np
from support.formulas.gated import gru


def step(gates, state, p):
    (h,), w_ih = state, np.zeros((len(gates), 1))
    for name, share in (("first", gates), ("second", np.zeros_like(gates))):
        h = gru(np.zeros(1), h, (w_ih, share, p[f"{name}.weight"], p[f"{name}.bias"]))
    return (h,)
