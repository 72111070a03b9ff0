import numpy as np


def score(h, v, s, p, c=None):
    w_a = p["memory.weight"]
    if c is not None:
        w_a, v = np.concatenate([w_a, p["coverage.weight"].T], axis=1), np.append(v, c)
    return h @ (w_a @ v)
