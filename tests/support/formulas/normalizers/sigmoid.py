import numpy as np

from support.formulas.gated import sigmoid


def weights(scores, p):
    return sigmoid(np.array(scores) - np.log(len(scores)))
