"""One step of the GRU and of the LSTM."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, h, weights):
    """One layer, one step: the equations in the documentation of `torch.nn.GRU`."""
    w_ih, b_ih, w_hh, b_hh = (np.split(matrix, 3) for matrix in weights)
    r = sigmoid(w_ih[0] @ x + b_ih[0] + w_hh[0] @ h + b_hh[0])
    z = sigmoid(w_ih[1] @ x + b_ih[1] + w_hh[1] @ h + b_hh[1])
    n = np.tanh(w_ih[2] @ x + b_ih[2] + r * (w_hh[2] @ h + b_hh[2]))
    return (1 - z) * n + z * h


def lstm(x, h, c, weights):
    """One layer, one step: the equations in the documentation of `torch.nn.LSTM`."""
    w_ih, b_ih, w_hh, b_hh = (np.split(matrix, 4) for matrix in weights)
    i, f, g, o = (w_ih[k] @ x + b_ih[k] + w_hh[k] @ h + b_hh[k] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c
