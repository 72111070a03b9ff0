import numpy as np
from support.formulas.gated import sigmoid


def heads(vector):
    return np.split(vector, max([n for n in (1, 2, 4, 8) if len(vector) % (8 * n) == 0], default=1))


def scaled(key):
    return key / np.sqrt(len(key))


def initial(h, v, k):
    """The hidden state, and C and n of each head."""
    keys = [scaled(key) for key in heads(k)]
    return h, [np.outer(value, key) for value, key in zip(heads(v), keys, strict=True)], keys


def step(gates, state, p):
    q, k, v, o = np.split(gates, 4)
    i, f = np.split(p["head_gates.weight"] @ np.concatenate([q, k, v]) + p["head_gates.bias"], 2)
    memories, sums, outputs = [], [], []
    for n, (query, key, value) in enumerate(zip(heads(q), heads(k), heads(v), strict=True)):
        memories.append(sigmoid(f[n]) * state[1][n] + np.exp(i[n]) * np.outer(value, scaled(key)))
        sums.append(sigmoid(f[n]) * state[2][n] + np.exp(i[n]) * scaled(key))
        read = memories[n] @ query / max(abs(sums[n] @ query), 1)
        outputs.append((read - read.mean()) / np.sqrt(read.var() + 1e-5))
    return sigmoid(o) * p["scale"] * np.concatenate(outputs), memories, sums
