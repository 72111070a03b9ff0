import numpy as np


def score(h, v, s, p, c=None):
    u_a = p["memory.weight"]
    if c is not None:
        u_a, v = np.concatenate([u_a, p["coverage.weight"]], axis=1), np.append(v, c)
    return p["v.weight"][0] @ np.tanh(p["query.weight"] @ h + u_a @ v)
