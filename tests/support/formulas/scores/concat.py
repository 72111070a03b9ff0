import numpy as np


def score(h, v, s, p, c=None):
    blocks, parts = [p["query.weight"], p["memory.weight"]], [h, v]
    if c is not None:
        blocks, parts = [*blocks, p["coverage.weight"]], [*parts, [c]]
    return p["v.weight"][0] @ np.tanh(np.concatenate(blocks, axis=1) @ np.concatenate(parts))
